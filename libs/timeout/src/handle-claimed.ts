import type { ClaimedBatch } from './claimed-batch';
import { isContention, isLockTimeout } from './database-errors';
import type { Claimant, DeadlineHandler, DueDeadline } from './deadline-handler';
import {
  type FailureRates,
  type HandledApart,
  handleApart,
  HandlerFaultError,
} from './handle-apart';
import { isSubjectsFault, subjectNamedBy } from './subject-failure';
import type { Suspects } from './suspects';
import type { Transaction } from './transaction';

/**
 * A piece waits no longer for a row that somebody holds: what is short, as a commit, is over by
 * then, and the one who needs a row that is held for longer is found before others feel it.
 */
const LOCK_WAIT_MS = 10;

/** Those of a batch that were not handled. */
export type Aside = Pick<HandledApart, 'failed' | 'locked' | 'left'>;
export const NOBODY: Aside = { failed: [], locked: [], left: [] };

/** Somebody's lock was waited for in vain. No contention, which is tried again: the whole batch would wait again. */
export class RowHeldError extends Error {
  constructor(readonly failure: unknown) {
    super(`A row is held: ${String(failure)}`);
  }
}

/** How a batch is handled, and what is known of those before it. */
export interface Handling {
  readonly handler: DeadlineHandler;
  readonly by: Claimant;
  readonly isApart: boolean;
  readonly isProbe: boolean;
  readonly isJudged: boolean;
  readonly rates: FailureRates;
  readonly suspects: Suspects;
}

/**
 * Has claimed deadlines handled in the transaction that has claimed them: as a whole, or in pieces.
 *
 * @throws {HandlerFaultError} when none could be handled, and it is judged by that
 * @throws {RowHeldError} as a whole only
 */
export async function handleClaimed(
  mine: ClaimedBatch,
  tx: Transaction,
  how: Handling,
): Promise<HandledApart> {
  if (!how.isApart) return handleWhole(mine, tx, how);
  const { handler, by, isProbe, isJudged, rates, suspects } = how;
  const attempt = (piece: readonly DueDeadline[]) =>
    tx.attempt(() => handler.handle(piece, tx, by));
  await tx.rows(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
  const result = await handleApart(mine.each, attempt, {
    ...{ rates, isSubjectsFault, isContention, suspectOf: subjectNamedBy },
    isJudged: !isProbe && isJudged,
    isSuspect: (one) => suspects.has(one),
  });
  await tx.rows('SET LOCAL lock_timeout TO DEFAULT');
  const [first] = result.failed;
  // Nobody's failure is counted against them when all that a probe has tried fail.
  if (isProbe && first && result.succeeded === 0) throw new HandlerFaultError(first.error);
  return result;
}

async function handleWhole(
  mine: ClaimedBatch,
  tx: Transaction,
  { handler, by }: Handling,
): Promise<HandledApart> {
  try {
    const whole = mine.count > 0 ? await handler.whole?.handle(mine.subjectIds, tx, by) : undefined;
    const { changed, lost, putBack = [] } = whole ?? (await handler.handle(mine.each, tx, by));
    return { changed, lost, putBack, ...NOBODY, succeeded: mine.count };
  } catch (error) {
    throw isLockTimeout(error) ? new RowHeldError(error) : error;
  }
}
