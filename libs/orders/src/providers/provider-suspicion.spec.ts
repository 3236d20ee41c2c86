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

  it('suspects none of which the newest twenty calls were answered, however many failed seconds before', () => {
    calls(300, 'error');
    calls(10, 'open');
    expect(suspicion.read()).toBe('provider_fails');
    calls(10, 'open');
    nowMs += 30_000;
    expect(suspicion.read()).toBeUndefined();
    calls(10, 'error');
    expect(suspicion.read()).toBe('provider_fails');
  });

  it('suspects one that fails after it has answered for long', () => {
    forSeconds(300, 'open');
    forSeconds(40, 'error');
    expect(suspicion.read()).toBe('provider_fails');
  });

  it('is not talked into it by a few calls that failed among a minute of answers', () => {
    forSeconds(50, 'open');
    forSeconds(10, 'error');
    expect(suspicion.read()).toBeUndefined();
  });

  it('is over once the provider was heard to answer since, however long ago, and not because nobody asks', () => {
    forSeconds(30, 'error');
    nowMs += 60_000;
    expect([suspicion.read(), suspicion.isOver(90_000)]).toEqual([undefined, false]);
    calls(1, 'error');
    calls(2, 'open');
    expect(suspicion.isOver(90_000)).toBe(false);
    calls(1, 'open');
    expect(suspicion.isOver(90_000)).toBe(true);
    nowMs += 3_600_000;
    expect([suspicion.isOver(3_700_000), suspicion.isOver(3_500_000)]).toEqual([true, false]);
  });

  it('is over where all that failed was answered as timeouts had just stopped, and nothing is asked since', () => {
    calls(30, 'timeout');
    calls(30, 'not_called');
    const stoppedMs = nowMs;
    nowMs += 1_000;
    calls(30, 'open');
    // What failed is as much of the minute as what was answered.
    nowMs = stoppedMs + 59_000;
    expect([suspicion.read(), suspicion.isOver(59_000)]).toEqual([undefined, false]);
    nowMs = stoppedMs + 61_000;
    expect([suspicion.read(), suspicion.isOver(61_000)]).toEqual([undefined, true]);
  });

  it('is over though one order fails from then on, and is not where twenty calls in a row do', () => {
    forSeconds(30, 'error');
    calls(5, 'open');
    nowMs += 61_000;
    calls(4, 'bug');
    expect(suspicion.isOver(61_000)).toBe(true);
    calls(15, 'bug');
    nowMs += 66_000;
    expect(suspicion.isOver(200_000)).toBe(true);
    calls(1, 'bug');
    nowMs += 66_000;
    expect(suspicion.isOver(200_000)).toBe(false);
  });

  it('is not over by one call that was answered, as a process hears that has just begun', () => {
    calls(4, 'open');
    expect(suspicion.isOver(61_000)).toBe(false);
    calls(1, 'open');
    expect(suspicion.isOver(61_000)).toBe(true);
  });

  it('is not over by a call that failed, however many were answered before timeouts stopped', () => {
    calls(5, 'open');
    nowMs += 3_600_000;
    calls(1, 'error');
    nowMs += 61_000;
    expect(suspicion.isOver(61_000)).toBe(false);
    calls(3, 'open');
    expect(suspicion.isOver(61_000)).toBe(false);
    calls(1, 'open');
    nowMs += 1_000;
    expect(suspicion.isOver(63_000)).toBe(true);
  });

  it('is not over while it answers some calls and most of a minute fail, too few to suspect it anew', () => {
    for (let again = 0; again < 3; again++) {
      calls(3, 'error');
      calls(2, 'open');
    }
    calls(1, 'open');
    expect([suspicion.read(), suspicion.isOver(61_000)]).toEqual([undefined, false]);
  });

  it('goes by what comes after it was forgotten', () => {
    calls(20, 'error');
    expect(suspicion.read()).toBe('provider_fails');
    suspicion.forget();
    calls(19, 'error');
    expect(suspicion.read()).toBeUndefined();
    calls(1, 'error');
    expect(suspicion.read()).toBe('provider_fails');
  });
});
