import { areBraked } from '../brake/brake-table';
import type { Transaction } from '../database/transaction';

/**
 * A batch that is handled as a whole waits so long for a row, whatever its session would: far longer
 * than a commit takes, and short enough for the others of the batch, who wait with it.
 */
const LOCK_WAIT_MS = 250;

/** What a batch hears as it begins. */
export interface BatchEntry {
  /** The instant by which it will claim: its transaction's. */
  readonly now: Date;
  /** What the database's clock said as it answered. */
  readonly clockNow: Date;
  /** False: all turns are taken. */
  readonly hasTurn: boolean;
  /** True while timeouts stand still for an operator, whichever process has stopped them. */
  readonly isBraked: boolean;
}

/**
 * The first statement of a batch: takes one of the `turns` that all processes of one installation
 * (its schema: a database may have several) share to drain this kind, looks at the brake of these kinds, and says how
 * long the batch waits for a row. A turn is an advisory lock of the transaction, so it ends with it,
 * also where its holder is killed; one that stands still loses its transaction after seconds.
 */
export async function enterBatch(
  tx: Transaction,
  kind: string,
  turns: number,
  braked: readonly string[],
): Promise<BatchEntry> {
  const [row] = await (braked.length > 0
    ? tx.hot<EntryRow>(ENTER_BY_BRAKE, [kind, turns, braked])
    : tx.hot<EntryRow>(ENTER, [kind, turns]));
  const { now, clock_now: clockNow, turn, is_braked: isBraked } = row as EntryRow;
  return { now, clockNow, hasTurn: turn !== null, isBraked };
}

interface EntryRow {
  readonly now: Date;
  readonly clock_now: Date;
  readonly turn: number | null;
  readonly is_braked: boolean;
}

/** What the turns of a kind are locked by, beside their number; `kind` is SQL. */
export const keyOfTurns = (kind: string): string =>
  `hashtext('deadlines ' || current_schema || ' ' || ${kind})`;

/** Looks at one number after the other, and stops at the first that is free. */
const TURN = `(SELECT turn FROM generate_series(1, $2::int) AS turn
   WHERE pg_try_advisory_xact_lock(${keyOfTurns('$1')}, turn) LIMIT 1
  ) AS turn`;
const BEGIN = `SELECT now(), clock_timestamp() AS clock_now, ${TURN},
         set_config('lock_timeout', '${LOCK_WAIT_MS}ms', true)`;
const ENTER = `${BEGIN}, false AS is_braked`;
const ENTER_BY_BRAKE = `${BEGIN}, ${areBraked('$3')} AS is_braked`;
