import type { DataSource } from 'typeorm';
import type { Deadline } from './deadline-handler';
import { queryRows, type Transaction } from './transaction';

/** A deadline whose handler failed too often. */
export interface HeldDeadline {
  readonly kind: string;
  readonly subjectId: string;
  readonly dueAt: Date;
  readonly failures: number;
  readonly error: string;
  readonly heldAt: Date;
}

/** Held deadlines, longest held first. */
export function listHeld(
  dataSource: DataSource,
  filter: { readonly kind?: string | undefined; readonly limit: number },
): Promise<HeldDeadline[]> {
  return queryRows<HeldDeadline>(
    dataSource,
    `SELECT kind, subject_id AS "subjectId", due_at AS "dueAt", failures, error,
            held_at AS "heldAt"
       FROM held_deadlines WHERE $1::text IS NULL OR kind = $1
      ORDER BY held_at, kind, subject_id LIMIT $2`,
    [filter.kind ?? null, filter.limit],
  );
}

/** Makes held deadlines due again, now and with a clean record. The caller arms their alarms. */
export async function releaseHeld(
  tx: Transaction,
  which: {
    readonly kind?: string | undefined;
    readonly subjectIds?: readonly string[] | undefined;
  },
): Promise<Deadline[]> {
  const rows = await tx.rows<{ kind: string; subject_id: string; due_at: Date; version: number }>(
    `WITH released AS (
       DELETE FROM held_deadlines
        WHERE ($1::text IS NULL OR kind = $1) AND ($2::uuid[] IS NULL OR subject_id = ANY ($2))
       RETURNING kind, subject_id, version
     )
     INSERT INTO deadlines (kind, due_at, subject_id, version)
     SELECT kind, now(), subject_id, version + 1 FROM released ON CONFLICT DO NOTHING
     RETURNING kind, subject_id, due_at, version`,
    [which.kind ?? null, which.subjectIds ?? null],
  );
  return rows.map((row) => ({
    kind: row.kind,
    subjectId: row.subject_id,
    dueAt: row.due_at,
    version: row.version,
  }));
}
