import { ClaimedBatch } from './claimed-batch';
import { type DeadlineRow, fromRow } from '../deadlines/deadlines';
import type { Transaction } from '../database/transaction';

/**
 * Up to `limit` due deadlines of a kind for a probe, half of them the newest, half taken at random
 * from the newest thousands: where only some can be handled, one of these is found before long.
 */
export async function claimSome(
  tx: Transaction,
  kind: string,
  limit: number,
): Promise<ClaimedBatch> {
  const rows = await tx.rows<DeadlineRow>(
    `WITH newest AS (
       SELECT kind, due_at, subject_id, row_number() OVER () AS place FROM (
         SELECT kind, due_at, subject_id FROM near_deadlines WHERE kind = $1 AND due_at <= now()
          ORDER BY kind DESC, due_at DESC LIMIT 10000) AS due),
     chosen AS (
       SELECT kind, due_at, subject_id FROM newest
        ORDER BY place > $2 / 2, random() LIMIT $2)
     DELETE FROM near_deadlines d USING (
       SELECT d.ctid AS at, d.kind, d.due_at, d.subject_id
         FROM near_deadlines d JOIN chosen USING (kind, due_at, subject_id)
          FOR UPDATE OF d SKIP LOCKED) AS mine
      WHERE d.ctid = mine.at AND d.kind = mine.kind AND d.due_at = mine.due_at
        AND d.subject_id = mine.subject_id
     RETURNING d.kind, d.subject_id, d.due_at, d.version, d.failures`,
    [kind, limit],
  );
  return ClaimedBatch.of(rows.map(fromRow));
}
