import { judgeRefund, type RefundFacts, type RefundJudgement } from '../money/refund.judgement';
import type { SettledAnswer } from '../money/settle-refunds';

/** Stands for the attempt in what somebody has made: their attempts are counted from 1. */
export const BY_HAND = 0;

/** An attempt of which the provider has said that it succeeded; or what somebody has made {@link BY_HAND}. */
export interface MadeAttempt {
  readonly attempt: number;
  /** Null of what was made by hand, and where the provider has not told it. */
  readonly providerRefundId: string | null;
  /** True once the provider has said that it failed after all: that is its last word. */
  readonly hasFailed: boolean;
  /** True once a person has settled that it was made beside another. */
  readonly isDismissed: boolean;
}

export interface TargetRefundFacts extends Omit<RefundFacts, 'hasFailed'> {
  readonly providerRefundId: string | null;
  readonly made: readonly MadeAttempt[];
}

export interface TargetRefundJudgement extends RefundJudgement {
  readonly made: readonly MadeAttempt[];
  /** True while money has gone back twice, and nobody has settled that. */
  readonly isMadeTwice: boolean;
  /** True where this answer is the first to tell of it. */
  readonly isFirstTold: boolean;
}

const UNCHANGED: RefundJudgement = { to: 'unchanged' };

/**
 * Decides what an answer means for a refund of which each attempt that was made is known: whatever order
 * answers come in, money that went back twice is seen, and none is sent while some attempt stands as made.
 */
export function judgeTargetRefund(
  facts: TargetRefundFacts,
  attempt: number,
  answer: SettledAnswer,
): TargetRefundJudgement {
  const before = facts.made;
  const known = before.find((one) => one.attempt === attempt);
  if (known?.hasFailed && isOldStory(known, answer)) return judgement(UNCHANGED, before, before);
  if (answer.state === 'FAILED') {
    const made = known ? withFailure(before, known) : before;
    return judgement(judgeFailure(facts, attempt, answer, known, made), made, before);
  }
  const hasFailed = attempt === facts.attempt && isRowsFailure(facts, answer);
  const judged = judgeRefund({ ...facts, hasFailed }, attempt, answer);
  if (answer.state === 'PENDING') return judgement(judged, before, before);
  // What is said of the current attempt after its failure is an old story, and changes nothing.
  const isMade =
    attempt !== facts.attempt || judged.to === 'succeeded' || facts.status === 'succeeded';
  const made = isMade ? withSuccess(before, attempt, answer.providerRefundId) : before;
  return judgement(judged, made, before);
}

/** True of two or more refunds of the same money that stand as made, unless all of them are dismissed. */
const isMadeTwice = (made: readonly MadeAttempt[]): boolean =>
  countRefunds(made) > 1 && standing(made).some(({ isDismissed }) => !isDismissed);

function isOldStory({ providerRefundId }: MadeAttempt, answer: SettledAnswer): boolean {
  const told = answer.providerRefundId || null;
  return answer.state === 'FAILED' || [null, providerRefundId].includes(told);
}

/** What is told of is the refund by which the current attempt is over. */
function isRowsFailure(
  { status, providerRefundId }: TargetRefundFacts,
  told: SettledAnswer,
): boolean {
  const isOver = status === 'failed' || status === 'needs_attention';
  return isOver && providerRefundId === told.providerRefundId;
}

function withSuccess(
  made: readonly MadeAttempt[],
  attempt: number,
  told: string,
): readonly MadeAttempt[] {
  const known = made.find((one) => one.attempt === attempt && !one.hasFailed);
  const providerRefundId = known?.providerRefundId ?? (told || null);
  const isDismissed = made.some(
    (one) => one.isDismissed && (one === known || isSameRefund(one, providerRefundId)),
  );
  const others = made.filter((one) => one.attempt !== attempt);
  return [...others, { attempt, providerRefundId, hasFailed: false, isDismissed }];
}

const withFailure = (made: readonly MadeAttempt[], failed: MadeAttempt): readonly MadeAttempt[] =>
  made.map((one) =>
    one === failed || isSameRefund(one, failed.providerRefundId)
      ? { ...one, hasFailed: true }
      : one,
  );

const isSameRefund = ({ providerRefundId }: MadeAttempt, id: string | null): boolean =>
  id !== null && providerRefundId === id;

/** Where another attempt stands as made the money is back by that one: none is sent after it. */
function judgeFailure(
  facts: TargetRefundFacts,
  attempt: number,
  answer: SettledAnswer,
  known: MadeAttempt | undefined,
  made: readonly MadeAttempt[],
): RefundJudgement {
  const isCurrent = attempt === facts.attempt;
  const others = standing(made);
  // Written down, so that its success is an old story when it is told of later.
  if (isCurrent && facts.status === 'needs_attention') return { to: 'needs_attention' };
  if (isCurrent && others.length === 0) {
    return judgeRefund({ ...facts, hasFailed: false, isOnlyOne: true }, attempt, answer);
  }
  if (facts.status === 'succeeded' && known) {
    // Of those that are dismissed one may have been fetched back: whether the money is back, a person knows.
    const isDoneByAnother = others.some(({ isDismissed }) => !isDismissed);
    return {
      to: isDoneByAnother ? 'unchanged' : 'needs_attention',
      alert: 'refund_failed_afterwards',
    };
  }
  const isUnderWay = facts.status === 'requested' || facts.status === 'pending';
  // Somebody has sent this one although another was said to be made.
  return isCurrent && isUnderWay
    ? { to: 'needs_attention', alert: 'refund_contradiction' }
    : UNCHANGED;
}

const standing = (made: readonly MadeAttempt[]): readonly MadeAttempt[] =>
  made.filter(({ hasFailed }) => !hasFailed);

/** The same refund of the provider under two of our keys is one. */
const countRefunds = (made: readonly MadeAttempt[]): number =>
  new Set(standing(made).map(({ attempt, providerRefundId }) => providerRefundId ?? attempt)).size;

const judgement = (
  judged: RefundJudgement,
  made: readonly MadeAttempt[],
  before: readonly MadeAttempt[],
): TargetRefundJudgement => ({
  ...judged,
  made,
  isMadeTwice: isMadeTwice(made),
  isFirstTold: isMadeTwice(made) && countRefunds(made) > countRefunds(before),
});
