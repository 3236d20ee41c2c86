import type { Transaction } from '../database/transaction';
import type { Uuids } from '../uuids';

/** A deadline as it is armed. */
export interface Deadline {
  /** What must happen; each kind has exactly one handler. */
  readonly kind: string;
  /** UUID of what it must happen to. */
  readonly subjectId: string;
  readonly dueAt: Date;
  /** Counts re-armings of the same subject; starts at 1. */
  readonly version: number;
}

/** A deadline that was claimed because it is due. */
export interface DueDeadline extends Deadline {
  /** How often handling it has failed so far. */
  readonly failures: number;
}

/** Who found the deadline due. */
export type Claimant = 'timer' | 'sweep';

/** What became of a batch. `changed + lost` = what was handled; the rest went back. */
export interface BatchResult {
  /** Subjects this batch changed. */
  readonly changed: number;
  /** Subjects that had moved on already: the deadline lost, as most do. */
  readonly lost: number;
  /** Deadlines to put back, due again at the given instant; they keep their count of failures. */
  readonly putBack?: readonly DueDeadline[];
}

/**
 * Handles due deadlines of one kind. Called with a batch and the very transaction in which the
 * batch was claimed: commit or crash, the claim and the effect share one fate. Whatever takes
 * time (a call to a provider) belongs after the commit, behind a new deadline that repeats it.
 *
 * After a batch has failed, those that follow are handled in pieces, each behind a savepoint: then
 * `handle` is called several times in a transaction, and what it did by `tx` is undone where it
 * throws. Each `tx` is for its call alone: what is done by it later is refused. A subject for which
 * it throws alone is put aside; where it throws for all, the kind stops.
 * A piece waits only briefly for rows that somebody holds: who needs them comes back, uncounted.
 * A call that is silent for 20 s is given up: what it does by `tx` later is refused. So is, once it
 * answers, one that made no statement until Postgres ended its session for that.
 */
export interface DeadlineHandler {
  /** The largest batch one transaction may take. */
  readonly maxBatch: number;
  /** The key to hold while this subject is changed, or undefined when none is needed. */
  lockKey(subjectId: string): string | undefined;
  /**
   * Optional, in place of `lockKey`: a batch's keys by its subjects' ids, where they have to be read. Called in the
   * batch's transaction before `handle`; a subject that is not among them needs none.
   */
  readonly lockKeys?:
    | ((subjectIds: readonly string[], tx: Transaction) => Promise<ReadonlyMap<string, string>>)
    | undefined;
  /** `judge`: for a handler that has hooks of `tx` do what follows the commit. */
  handle(
    due: readonly DueDeadline[],
    tx: Transaction,
    by: Claimant,
    judge?: FollowUpJudge,
  ): Promise<BatchResult>;
  /** Optional, beside `handle`: the way of batches that nobody has to take apart. */
  readonly whole?: WholeBatches;
  /**
   * Optional: what follows the commit, outside any transaction. Rings and sweeps do not wait for
   * it, so it bounds its own concurrency; stopping does, so it ends soon when the process stops.
   * `judge` is told what became of it: where it fails for all, the kind stops.
   */
  afterCommit?(due: readonly DueDeadline[], judge: FollowUpJudge): Promise<void>;
}

/**
 * Hears what becomes of the work that follows commits. Of what says nothing of the handler, as where a
 * provider gives no answer or nothing was left to do, it is not told.
 */
export interface FollowUpJudge {
  succeeded(subjectId: string): void;
  /** It comes back by a deadline that was armed before. Locks and servers that are away do not count. */
  failed(subjectId: string, error: unknown): void;
}

/** Due deadlines whose ids are one value, and that are taken apart only for who looks at each. */
export interface WholeBatch {
  readonly subjectIds: Uuids;
  readonly each: readonly DueDeadline[];
}

/** How a handler goes about batches by their subjects' ids, which stay one value all the way. */
export interface WholeBatches {
  /** Every key to hold is this and the subject's id. */
  readonly lockPrefix: string;
  /** As `handle`, for a batch whose keys are all held. */
  handle(batch: WholeBatch, tx: Transaction, by: Claimant): Promise<BatchResult>;
}
