import type { DataSource } from 'typeorm';
import type { Deadline, DueDeadline } from './deadline-handler';
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

/** Takes claimed deadlines that keep failing out of the way until an operator releases them. */
export async function holdDeadlines(
  tx: Transaction,
  held: readonly { readonly due: DueDeadline; readonly error: string }[],
): Promise<void> {
  if (held.length === 0) return;
  await tx.rows(
    `INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
     SELECT DISTINCT ON (kind, subject_id) *
       FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::int[], $5::smallint[], $6::text[])
         AS h (kind, subject_id, due_at, version, failures, error)
      ORDER BY kind, subject_id, due_at DESC
     ON CONFLICT (kind, subject_id) DO UPDATE
       SET due_at = excluded.due_at, version = excluded.version, failures = excluded.failures,
           error = excluded.error, held_at = now()`,
    [
      held.map(({ due }) => due.kind),
      held.map(({ due }) => due.subjectId),
      held.map(({ due }) => due.dueAt),
      held.map(({ due }) => due.version),
      held.map(({ due }) => due.failures + 1),
      held.map(({ error }) => error),
    ],
  );
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
