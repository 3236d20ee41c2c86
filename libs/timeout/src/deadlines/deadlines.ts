import { queryRows } from '../database/query-rows';
import type { Transaction } from '../database/transaction';
import type { DataSource } from 'typeorm';
import type { Deadline, DueDeadline } from './deadline-handler';
import { isFar } from './far-deadlines';
import { slotEndInSql } from '../slots';

export interface DeadlineRow {
  kind: string;
  subject_id: string;
  due_at: Date;
  version: number;
  failures: number;
}

/** Arms deadlines inside the caller's transaction. A deadline armed twice is one deadline. */
export function insertDeadlines(tx: Transaction, deadlines: readonly Deadline[]): Promise<void> {
  return putBackDeadlines(
    tx,
    deadlines.map((deadline) => ({ ...deadline, failures: 0 })),
  );
}

/** Arms claimed deadlines again, at their new instants and with their count of failures. */
export async function putBackDeadlines(
  tx: Transaction,
  deadlines: readonly DueDeadline[],
): Promise<void> {
  if (deadlines.length === 0) return;
  await tx.hot(
    `INSERT INTO deadlines (kind, due_at, subject_id, version, failures, far)
     SELECT kind, due_at, subject_id, version, failures, ${isFar('due_at')}
       FROM unnest($1::text[], $2::timestamptz[], $3::uuid[], $4::int[], $5::smallint[])
         AS d (kind, due_at, subject_id, version, failures)
     ON CONFLICT DO NOTHING`,
    [
      deadlines.map((deadline) => deadline.kind),
      deadlines.map((deadline) => deadline.dueAt),
      deadlines.map((deadline) => deadline.subjectId),
      deadlines.map((deadline) => deadline.version),
      deadlines.map((deadline) => deadline.failures),
    ],
  );
}

/** Near deadlines due in `(after, until]`, oldest first, in pages of `pageSize`. */
export async function* deadlinesBetween(
  dataSource: DataSource,
  kind: string,
  after: Date,
  until: Date,
  pageSize: number,
): AsyncGenerator<Deadline[]> {
  let cursor = { dueAt: after, subjectId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
  for (;;) {
    const rows = await queryRows<DeadlineRow>(
      dataSource,
      `SELECT kind, subject_id, due_at, version, failures FROM near_deadlines
        WHERE kind = $1 AND (due_at, subject_id) > ($2, $3) AND due_at <= $4
        ORDER BY kind, due_at, subject_id LIMIT $5`,
      [kind, cursor.dueAt, cursor.subjectId, until, pageSize],
    );
    if (rows.length > 0) yield rows.map(fromRow);
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    cursor = { dueAt: last.due_at, subjectId: last.subject_id };
  }
}

/** The ends of all slots of `slotMs` in `(after, until]` that have a near deadline, in milliseconds. */
export async function slotsBetween(
  dataSource: DataSource,
  kinds: readonly string[],
  after: Date,
  until: Date,
  slotMs: number,
): Promise<number[]> {
  const rows = await queryRows<{ endMs: string }>(
    dataSource,
    `SELECT DISTINCT ${slotEndInSql('$4::int')} AS "endMs"
       FROM near_deadlines WHERE kind = ANY ($1) AND due_at > $2 AND due_at <= $3`,
    [kinds, after, until, slotMs],
  );
  return rows.map(({ endMs }) => Number(endMs));
}

/** The kinds that have a deadline waiting: a step through the index for each, however many wait. */
export async function waitingKinds(dataSource: DataSource): Promise<string[]> {
  const rows = await queryRows<{ kind: string }>(
    dataSource,
    `WITH RECURSIVE kinds AS (
       (SELECT kind FROM deadlines ORDER BY kind LIMIT 1)
       UNION ALL
       SELECT (SELECT d.kind FROM deadlines d WHERE d.kind > k.kind ORDER BY d.kind LIMIT 1)
         FROM kinds k WHERE k.kind IS NOT NULL
     )
     SELECT kind FROM kinds WHERE kind IS NOT NULL`,
  );
  return rows.map(({ kind }) => kind);
}

/** How many deadlines of these kinds are overdue, and by how long the oldest. */
export async function countOverdue(
  dataSource: DataSource,
  kinds: readonly string[],
): Promise<{ overdue: number; oldestLagMs: number }> {
  const [row] = await queryRows<{ overdue: string; oldest: string | null }>(
    dataSource,
    `SELECT count(*) AS overdue, extract(epoch FROM now() - min(due_at)) * 1000 AS oldest
       FROM deadlines WHERE kind = ANY ($1) AND due_at <= now()`,
    [kinds],
  );
  return { overdue: Number(row?.overdue ?? 0), oldestLagMs: Number(row?.oldest ?? 0) };
}

export function fromRow(row: DeadlineRow): DueDeadline {
  return {
    kind: row.kind,
    subjectId: row.subject_id,
    dueAt: row.due_at,
    version: row.version,
    failures: row.failures,
  };
}
