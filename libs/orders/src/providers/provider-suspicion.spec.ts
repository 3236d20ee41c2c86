import { ProviderSuspicion } from './provider-suspicion';

describe('ProviderSuspicion', () => {
  let nowMs: number;
  let suspicion: ProviderSuspicion;
  beforeEach(() => {
    nowMs = 1_000_000;
    suspicion = new ProviderSuspicion(() => nowMs);
  });

  const calls = (count: number, outcome: string): void => {
    for (let i = 0; i < count; i++) suspicion.note(outcome);
  };
  /** Ten in each step of five seconds, as a shop's calls come. */
  const forSeconds = (seconds: number, outcome: string): void => {
    for (let passed = 0; passed < seconds; passed += 5) {
      calls(10, outcome);
      nowMs += 5_000;
    }
  };

  it('suspects nothing of few calls, or while most are answered, by whatever answer', () => {
    calls(19, 'timeout');
    expect(suspicion.read()).toBeUndefined();
    calls(20, 'refused');
    expect(suspicion.read()).toBeUndefined();
  });

  it.each(['unknown', 'timeout', 'error', 'not_called', 'bug'])(
    'suspects a provider most of whose calls end as %s',
    (outcome) => {
      calls(11, 'succeeded');
      calls(10, outcome);
      expect(suspicion.read()).toBeUndefined();
      calls(1, outcome);
      expect(suspicion.read()).toBe('provider_fails');
    },
  );

  it('suspects none that failed for most of a minute once twenty calls were answered since', () => {
    forSeconds(40, 'error');
    expect(suspicion.read()).toBe('provider_fails');
    forSeconds(5, 'open');
    expect(suspicion.read()).toBe('provider_fails');
    forSeconds(5, 'open');
    expect(suspicion.read()).toBeUndefined();
  });

  it('is not talked into it by a few calls that failed among a minute of answers', () => {
    forSeconds(50, 'open');
    forSeconds(10, 'error');
    expect(suspicion.read()).toBeUndefined();
  });

  it('is over once the provider was heard to answer, and not because nobody asks', () => {
    forSeconds(30, 'error');
    expect(suspicion.isOver()).toBe(false);
    nowMs += 60_000;
    expect([suspicion.read(), suspicion.isOver()]).toEqual([undefined, false]);
    calls(1, 'error');
    expect(suspicion.isOver()).toBe(false);
    calls(2, 'open');
    expect(suspicion.isOver()).toBe(true);
    nowMs += 65_000;
    expect(suspicion.isOver()).toBe(false);
  });
});
