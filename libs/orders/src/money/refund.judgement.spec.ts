import {
  judgeRefund,
  MAX_REFUND_ATTEMPTS,
  pauseAfterFailureMs,
  pauseWhilePendingMs,
  type RefundFacts,
} from './refund.judgement';

const SUCCEEDED = { state: 'SUCCEEDED', providerRefundId: 're_1' } as const;
const FAILED = { state: 'FAILED', providerRefundId: 're_1', why: 'account closed' } as const;
const PENDING = { state: 'PENDING', providerRefundId: 're_1' } as const;
const facts = (status: RefundFacts['status'], attempt = 1): RefundFacts => ({
  status,
  attempt,
  hasFailed: false,
});
/** What is told of is recorded as failed. */
const known = (status: RefundFacts['status'], attempt = 1): RefundFacts => ({
  ...facts(status, attempt),
  hasFailed: true,
});

describe('the pauses of refunds', () => {
  it('grow over most of a day while attempts fail', () => {
    const pauses = Array.from({ length: MAX_REFUND_ATTEMPTS - 1 }, (_, i) =>
      pauseAfterFailureMs(i + 1),
    );
    expect([...pauses].sort((a, b) => a - b)).toEqual(pauses);
    expect(pauses.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(20 * 3_600_000);
  });

  it('grow to an hour, and no more, while one is pending', () => {
    expect(pauseWhilePendingMs(1)).toBe(1_000);
    expect(pauseWhilePendingMs(12)).toBe(2_048_000);
    expect(pauseWhilePendingMs(500)).toBe(3_600_000);
  });
});

describe('judgeRefund', () => {
  it.each(['requested', 'pending'] as const)('settles a %s refund by what is said', (status) => {
    expect(judgeRefund(facts(status), 1, SUCCEEDED)).toEqual({ to: 'succeeded' });
    expect(judgeRefund(facts(status), 1, FAILED)).toEqual({ to: 'failed' });
  });

  it('notes once that the provider has it', () => {
    expect(judgeRefund(facts('requested'), 1, PENDING)).toEqual({ to: 'pending' });
    for (const status of ['pending', 'succeeded', 'failed', 'needs_attention'] as const) {
      expect(judgeRefund(facts(status), 1, PENDING)).toEqual({ to: 'unchanged' });
    }
  });

  it('leaves the last attempt to an operator', () => {
    expect(judgeRefund(facts('pending', MAX_REFUND_ATTEMPTS), MAX_REFUND_ATTEMPTS, FAILED)).toEqual(
      {
        to: 'needs_attention',
        alert: 'refund_needs_attention',
      },
    );
  });

  it('hears nothing new in a success that is told again', () => {
    expect(judgeRefund(facts('succeeded'), 1, SUCCEEDED)).toEqual({ to: 'unchanged' });
  });

  it('never ignores a failure that comes after the success', () => {
    expect(judgeRefund(facts('succeeded'), 1, FAILED)).toEqual({
      to: 'failed',
      alert: 'refund_failed_afterwards',
    });
  });

  it('leaves money alone that is back by another refund of the provider', () => {
    const back = { ...facts('succeeded', 2), isBackByAnother: true };
    expect(judgeRefund(back, 2, FAILED)).toEqual({ to: 'unchanged' });
  });

  it('sends no third one by itself, as the first may have been made after all', () => {
    expect(judgeRefund(facts('succeeded', 2), 1, SUCCEEDED)).toEqual({ to: 'unchanged' });
    expect(judgeRefund(facts('succeeded', 2), 2, FAILED)).toEqual({
      to: 'needs_attention',
      alert: 'refund_failed_afterwards',
    });
  });

  it('knows a success that is told of after the failure for an old story', () => {
    expect(judgeRefund(known('failed'), 1, SUCCEEDED)).toEqual({ to: 'unchanged' });
    expect(judgeRefund(known('needs_attention'), 1, SUCCEEDED)).toEqual({ to: 'unchanged' });
    for (const status of ['requested', 'pending', 'failed', 'succeeded'] as const) {
      expect(judgeRefund(known(status, 2), 1, SUCCEEDED)).toEqual({ to: 'unchanged' });
    }
  });

  it('counts a failure once, also where another refund of the provider has ended it since', () => {
    for (const status of ['failed', 'needs_attention', 'succeeded'] as const) {
      expect(judgeRefund(known(status), 1, FAILED)).toEqual({ to: 'unchanged' });
    }
  });

  it('hears the end of the attempt under way while an earlier one waits for an operator', () => {
    const waits = facts('needs_attention', 2);
    expect(judgeRefund(waits, 2, SUCCEEDED)).toEqual({ to: 'succeeded' });
    expect(judgeRefund(waits, 2, FAILED)).toEqual({ to: 'needs_attention' });
  });

  it('takes another refund of the provider, made by hand, for what it is', () => {
    const byHand = { state: 'SUCCEEDED', providerRefundId: 're_by_hand' } as const;
    for (const status of ['failed', 'needs_attention'] as const) {
      expect(judgeRefund(facts(status), 1, byHand)).toEqual({ to: 'succeeded' });
    }
  });

  it('sends no further attempt when an earlier one is said to have succeeded', () => {
    for (const status of ['requested', 'pending', 'failed'] as const) {
      expect(judgeRefund(facts(status, 2), 1, SUCCEEDED)).toEqual({
        to: 'needs_attention',
        alert: 'refund_contradiction',
      });
    }
    expect(judgeRefund(facts('succeeded', 2), 1, SUCCEEDED)).toEqual({ to: 'unchanged' });
  });

  it('hears nothing about what is owed no longer', () => {
    for (const answer of [SUCCEEDED, FAILED, PENDING]) {
      expect(judgeRefund(facts('canceled', 2), 2, answer)).toEqual({ to: 'unchanged' });
      expect(judgeRefund(facts('canceled', 2), 1, answer)).toEqual({ to: 'unchanged' });
    }
  });

  it('hears nothing new in a failure of an earlier attempt', () => {
    expect(judgeRefund(facts('pending', 2), 1, FAILED)).toEqual({ to: 'unchanged' });
    expect(judgeRefund(facts('succeeded', 2), 1, FAILED)).toEqual({ to: 'unchanged' });
  });
});
