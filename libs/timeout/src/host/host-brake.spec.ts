import { Logger } from '@nestjs/common';
import { brakeOf } from './host-brake';

it('is off for what is handled here where the host gives none any more, so that it is released', () => {
  expect(brakeOf(undefined, ['mail'])).toEqual({ kinds: ['mail'], share: null });
});

/** What a host's code answers that no compiler has looked at. */
describe("a host's suspicion", () => {
  const warned = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  beforeEach(() => warned.mockClear());
  afterAll(() => warned.mockRestore());

  const asked = (said: unknown): unknown => {
    const { suspicion } = brakeOf({ kinds: ['mail'], suspicion: () => said as string }, []);
    suspicion?.();
    return suspicion?.();
  };

  it('is a word', () => {
    expect(asked('mail_down')).toBe('mail_down');
  });

  it.each([[undefined], [null], [''], [false]])('is none where it answers %p', (said) => {
    expect(asked(said)).toBeUndefined();
    expect(warned).not.toHaveBeenCalled();
  });

  it.each([
    ['a promise', () => Promise.resolve('mail_down')],
    ['a promise that is rejected', () => Promise.reject(new Error('status page is away'))],
    ['true', () => true],
    ['an error', () => new Error('mail is down')],
  ])('is none where it answers with %s, which is said once', (_, say) => {
    expect(asked(say())).toBeUndefined();
    expect(warned.mock.calls).toEqual([
      [expect.stringContaining('a word, or undefined') as string],
    ]);
  });
});
