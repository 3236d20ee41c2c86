import { isLockTimeout, type Transaction } from '@app/timeout';
import { PLACING_TURN } from '../order/advisory-locks';

/** Whoever was in the way of a turn has ended by then: Postgres ends what stands still in a transaction after as long. */
const RESTS_AFTER_VAIN_MS = 3_000;

const TRY_BESIDE = `SELECT pg_try_advisory_xact_lock_shared(${PLACING_TURN}) AS "hasTurn"`;
const WAIT_BESIDE = `SELECT pg_advisory_xact_lock_shared(${PLACING_TURN})`;
const WAIT_ALONE = `SELECT pg_advisory_xact_lock(${PLACING_TURN})`;

/**
 * `alone`: no group of another process has anything, until the transaction ends. `beside`: none goes alone.
 * `none`: turns are not waited for at this time. `in_vain`: for as long as a lock may be waited for, it was.
 */
export type PlacingTurn = 'alone' | 'beside' | 'none' | 'in_vain';

/**
 * The turns of the groups that processes place at once. They pass over each other's products, and who wants many
 * of what others have all the time would get nothing: so a group may ask all others to stand aside while it places.
 * Postgres lets them in as they came. No promise hangs on a turn: stock is guarded by the products' rows.
 */
export class PlacingTurns {
  #restsUntilMs = -Infinity;

  /** To be called first in a transaction: who waits here is to hold nothing. */
  async take(tx: Transaction, wanted: 'alone' | 'beside'): Promise<PlacingTurn> {
    if (performance.now() < this.#restsUntilMs) return 'none';
    if (wanted === 'beside') {
      const [row] = await tx.hot<{ hasTurn: boolean }>(TRY_BESIDE, []);
      if (row?.hasTurn) return wanted;
    }
    try {
      await tx.attempt((part) => part.hot(wanted === 'alone' ? WAIT_ALONE : WAIT_BESIDE, []));
      return wanted;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      this.#restsUntilMs = performance.now() + RESTS_AFTER_VAIN_MS;
      return 'in_vain';
    }
  }
}
