import type { RefundStatus } from '../order/order';
import type { RefundAnswer } from '../providers/payment-provider';

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

/**
 * The pauses before a failed refund is tried anew: a hiccup is over in seconds, a provider's bad day
 * within a day. After the last one an operator has to look at it.
 */
export const PAUSES_AFTER_FAILURE_MS: readonly number[] = [
  ...[SECOND_MS, 10 * SECOND_MS, MINUTE_MS, 10 * MINUTE_MS],
  ...[HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS],
];

export const MAX_REFUND_ATTEMPTS = PAUSES_AFTER_FAILURE_MS.length + 1;

/** The pause after attempt `attempt` has failed. */
export function pauseAfterFailureMs(attempt: number): number {
  const index = Math.min(attempt, PAUSES_AFTER_FAILURE_MS.length) - 1;
  return PAUSES_AFTER_FAILURE_MS[index] as number;
}

/** Banks take days: a refund that is pending is asked after at doubling intervals, up to hourly. */
export function pauseWhilePendingMs(asked: number): number {
  return Math.min(HOUR_MS, SECOND_MS * 2 ** Math.max(0, Math.min(asked, 20) - 1));
}

/** What is known of a refund when the provider says something about one of its attempts. */
export interface RefundFacts {
  readonly status: RefundStatus;
  /** The attempt under way, or the last one. */
  readonly attempt: number;
  /** The provider's refund that is told of is recorded as failed, whichever attempt made it. */
  readonly hasFailed: boolean;
  /** The money is back by another refund of the provider than the one that is told of. */
  readonly isBackByAnother?: boolean;
  /** True where no earlier attempt stands as made, and one that did would have been noted. */
  readonly isOnlyOne?: boolean;
  /** Another attempt is booked beside the one under way, or beside the one by which it was over, and stands. */
  readonly isMadeBeside?: boolean;
}

export interface RefundJudgement {
  readonly to: 'unchanged' | 'pending' | 'succeeded' | 'failed' | 'needs_attention' | 'canceled';
  /** Something an operator should hear of. */
  readonly alert?: string;
}

const UNCHANGED: RefundJudgement = { to: 'unchanged' };

/**
 * Decides what an answer means, in whatever order answers come. A refund at a provider may go
 * from succeeded to failed, days later, and never back: so a failure has the last word about its
 * refund, and what is told of that afterwards is an old story, whichever attempt is under way.
 */
export function judgeRefund(
  facts: RefundFacts,
  attempt: number,
  answer: Exclude<RefundAnswer, { state: 'UNKNOWN' }>,
): RefundJudgement {
  // It is owed no longer, and no notice makes it so: what became of the attempts that had failed, the
  // provider's ledger says, where the refund of a canceled one is nobody's of ours.
  if (facts.status === 'canceled') return UNCHANGED;
  if (facts.hasFailed) return UNCHANGED;
  const isCurrent = attempt === facts.attempt;
  switch (answer.state) {
    case 'PENDING':
      return isCurrent && facts.status === 'requested' ? { to: 'pending' } : UNCHANGED;
    case 'SUCCEEDED':
      return isCurrent ? judgeSuccess(facts) : judgeOldSuccess(facts);
    case 'FAILED':
      return isCurrent ? judgeFailure(facts, answer.isForGood) : UNCHANGED;
  }
}

/** Also of one that waits for an operator: it is by none of the refunds that have failed. */
function judgeSuccess({ status }: RefundFacts): RefundJudgement {
  return status === 'succeeded' ? UNCHANGED : { to: 'succeeded' };
}

/**
 * An earlier attempt, which was taken for failed, is said to have succeeded. No further attempt
 * may be sent before somebody has looked, or the money could go back twice.
 */
function judgeOldSuccess({ status }: RefundFacts): RefundJudgement {
  if (status === 'succeeded' || status === 'needs_attention') return UNCHANGED;
  return { to: 'needs_attention', alert: 'refund_contradiction' };
}

function judgeFailure(facts: RefundFacts, isForGood = false): RefundJudgement {
  const { status, attempt, isOnlyOne, isBackByAnother, isMadeBeside } = facts;
  if (status === 'failed' || isBackByAnother) return UNCHANGED;
  // The money is back all the same, once: nothing is owed any more.
  if (isMadeBeside) return { to: 'canceled', alert: 'refund_failed_afterwards' };
  // The attempt that was under way as an earlier one contradicted itself: recorded, and sent no more.
  if (status === 'needs_attention') return { to: 'needs_attention' };
  if (isForGood || attempt >= MAX_REFUND_ATTEMPTS) {
    return { to: 'needs_attention', alert: 'refund_needs_attention' };
  }
  if (status !== 'succeeded') return { to: 'failed' };
  // An earlier attempt that was said to have failed may have been made after all, and nobody has told of that
  // yet. A third refund is sent only once somebody has looked.
  const to = attempt === 1 || isOnlyOne ? 'failed' : 'needs_attention';
  return { to, alert: 'refund_failed_afterwards' };
}
