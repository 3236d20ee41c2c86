import { StoodStillError } from './others-errors';
import { ofOwnConnection } from './own-connection';
import type { Transaction } from './transaction';

/**
 * What `work` comes to, unless its transaction ends meanwhile: it may never answer, and nothing that it does could be
 * committed.
 *
 * @throws {StoodStillError} where `who` had it for too long without a statement
 */
export async function unlessItStandsStill<T>(
  tx: Transaction,
  who: string,
  work: () => Promise<T>,
): Promise<T> {
  let giveUp: (why: Error) => void = () => undefined;
  const ended = new Promise<never>((_, reject) => (giveUp = reject));
  const stopListening = await tx.onEnd((stoodStill) => giveUp(endOf(who, stoodStill)));
  try {
    return await Promise.race([work(), ended]);
  } finally {
    stopListening();
  }
}

function endOf(who: string, stoodStill: boolean): Error {
  if (stoodStill) return new StoodStillError(who);
  const lost = new Error('Connection terminated unexpectedly');
  ofOwnConnection(lost);
  return lost;
}
