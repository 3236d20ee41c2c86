import type { Transaction } from './transaction';

/** What a batch hears as it begins. */
export interface BatchEntry {
  /** The instant by which it will claim: its transaction's. */
  readonly now: Date;
  /** False: all turns are taken. */
  readonly hasTurn: boolean;
  /** True while timeouts stand still for an operator, whichever process has stopped them. */
  readonly isBraked: boolean;
}

/**
 * The first statement of a batch: takes one of the `turns` that all processes share to drain this
 * kind, and looks at the brake. A turn is an advisory lock of the transaction, so it ends with it,
 * also where its holder is killed; one that stands still loses its transaction after seconds.
 */
export async function enterBatch(
  tx: Transaction,
  kind: string,
  turns: number,
  looksAtBrake: boolean,
): Promise<BatchEntry> {
  const [row] = await tx.hot<{ now: Date; turn: number | null; is_braked: boolean }>(
    looksAtBrake ? ENTER_BY_BRAKE : ENTER,
    [kind, turns],
  );
  const { now, turn, is_braked: isBraked } = row as NonNullable<typeof row>;
  return { now, hasTurn: turn !== null, isBraked };
}

/** Looks at one number after the other, and stops at the first that is free. */
const TURN = `(SELECT turn FROM generate_series(1, $2::int) AS turn
   WHERE pg_try_advisory_xact_lock(hashtext('deadlines ' || $1), turn) LIMIT 1) AS turn`;
const ENTER = `SELECT now(), ${TURN}, false AS is_braked`;
const ENTER_BY_BRAKE = `
  SELECT now(), ${TURN},
         EXISTS (SELECT FROM timeout_brakes WHERE released_at IS NULL) AS is_braked`;
