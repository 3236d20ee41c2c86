import { StoodStillError } from './others-errors';
import { ofOwnConnection } from './own-connection';
import { withTimeLimit } from '../time-limit';
import type { Transaction } from './transaction';

/** Postgres hears at once of a connection that ends, unless it is not to be reached. */
const ABANDON_LIMIT_MS = 1_000;
/** As a handler of deadlines has; where callers wait, those of the others in it do so as well. */
const [LIMIT_MS, SHARED_LIMIT_MS] = [20_000, 10_000];

/** Ends the connection under whoever may still be at work in its transaction, so that its rows are free again. */
export async function giveUp(tx: Transaction): Promise<void> {
  const abandoned = withTimeLimit(tx.abandon(), ABANDON_LIMIT_MS, 'Not abandoned');
  await abandoned.catch(() => undefined);
}

/**
 * What `work` comes to, unless its transaction ends meanwhile: it may never answer, and nothing that it does could be
 * committed. Work that goes on and on is given up, and each further statement of it refused.
 *
 * @throws {StoodStillError} where `who` had it for too long without a statement, or without an end
 */
export async function unlessItStandsStill<T>(
  tx: Transaction,
  who: string,
  work: () => Promise<T>,
  limitMs = tx.isShared ? SHARED_LIMIT_MS : LIMIT_MS,
): Promise<T> {
  let end: (why: Error) => void = () => undefined;
  const ended = new Promise<never>((_, reject) => (end = reject));
  const stopListening = await tx.onEnd((stoodStill) => end(endOf(who, stoodStill)));
  let givenUp: Promise<void> | undefined;
  const timer = setTimeout(() => {
    stopListening();
    // Said first: what its next statement is refused with says less.
    end(StoodStillError.after(limitMs, who));
    givenUp = giveUp(tx);
  }, limitMs);
  try {
    return await Promise.race([work(), ended]);
  } finally {
    clearTimeout(timer);
    stopListening();
    await givenUp;
  }
}

function endOf(who: string, stoodStill: boolean): Error {
  if (stoodStill) return new StoodStillError(who);
  const lost = new Error('Connection terminated unexpectedly');
  ofOwnConnection(lost);
  return lost;
}
