import { progress } from './progress';

describe('progress, where there is no terminal', () => {
  it('has no time left to tell of what has grown meanwhile', () => {
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      progress('Arming').update(41_744, 41_667);
      expect(written.mock.calls).toEqual([
        [expect.stringMatching(/^Arming 41744\/41667, \d+\/s, 0 ms left\n$/)],
      ]);
    } finally {
      written.mockRestore();
    }
  });
});
