import { queryRows, type Transaction } from './transaction';
import type { DataSource } from 'typeorm';
import { ClaimedBatch } from './claimed-batch';
import type { Deadline, DueDeadline } from './deadline-handler';
import { isFar } from './far-deadlines';
import { LowWater, since } from './low-water';
import { IS_PICKED } from './picked';
import { type DeadlineRange, inRange, rangeParams } from './shards/deadline-range';
import { Uuids } from './uuids';

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

/**
 * Claims up to `limit` deadlines of a kind that have been due for at least `overdueByMs`, oldest
 * first, and takes them out of the table; rows that somebody else is claiming are passed over.
 * A rollback puts them back. Looks from `lowWater` on, and raises it; within `range`, if given.
 */
export async function claimDue(
  tx: Transaction,
  kind: string,
  limit: number,
  overdueByMs: number,
  lowWater = new LowWater(),
  range?: DeadlineRange,
): Promise<ClaimedBatch> {
  const look = lowWater.begin();
  let oldestMs: number | undefined;
  try {
    const [columns] = await tx.hot<ClaimedColumns>(range ? CLAIM_RANGE : CLAIM, [
      ...[kind, limit, overdueByMs, new Date(look.fromMs)],
      ...(range ? rangeParams(range) : []),
    ]);
    oldestMs = Number((columns as ClaimedColumns).oldest_ms);
    return batchOf(kind, columns as ClaimedColumns);
  } finally {
    lowWater.end(look, oldestMs);
  }
}

interface ClaimedColumns extends Record<ClaimedColumn, string | null> {
  readonly subject_ids: Buffer | null;
  readonly first_due: Date | null;
  readonly last_due: Date | null;
  /** Of any of them. */
  readonly version: number;
  readonly failure: number;
  /** Of those that are left, and those that others are claiming. */
  readonly oldest_ms: string;
  /** From now on. */
  readonly next_in_ms: number | null;
}

function batchOf(kind: string, columns: ClaimedColumns): ClaimedBatch {
  const ids = Uuids.sent(columns.subject_ids);
  const between = { oldestMs: Number(columns.first_due), newestMs: Number(columns.last_due) };
  const readerOf = (name: ClaimedColumn, ofAll: number): ((index: number) => number) => {
    const values = columns[name]?.split(',');
    return (index) => (values ? Number(values[index]) : ofAll);
  };
  const takeApart = (): DueDeadline[] => {
    const dueMs = readerOf('due_ms', between.oldestMs);
    const version = readerOf('versions', columns.version);
    const failures = readerOf('failures', columns.failure);
    return ids.each.map((subjectId, index) => ({
      kind,
      subjectId,
      dueAt: new Date(dueMs(index)),
      version: version(index),
      failures: failures(index),
    }));
  };
  return new ClaimedBatch(ids, between, takeApart, columns.next_in_ms ?? undefined);
}

/** What a claim gives back of each deadline beside its subject, where not all have the same. */
const CLAIMED = {
  due_ms: ["round(date_part('epoch', due_at) * 1000)::bigint", 'first_due < last_due'],
  versions: ['version', 'version < last_version'],
  failures: ['failures', 'failure < last_failure'],
} as const;
type ClaimedColumn = keyof typeof CLAIMED;

/**
 * Found by ctid alone, so that no plan can turn it into a scan. All rows in one, a value a column:
 * reading rows costs Node and Postgres more than the claim. The oldest is as it was before: what
 * others claim counts, for they may roll back.
 */
const claimWhere = (due: string): string => `
  WITH picked AS MATERIALIZED (
    SELECT ctid AS place, due_at, subject_id FROM near_deadlines
     WHERE kind = $1 AND due_at >= ${since('$4::timestamptz')} AND due_at <= now() - $3 * interval '1 millisecond'
       AND ${due} ORDER BY kind, due_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), claimed AS (
    DELETE FROM near_deadlines WHERE ctid = ANY (ARRAY(SELECT place FROM picked)) AND ${IS_PICKED}
    RETURNING subject_id, due_at, version, failures
  ), span AS MATERIALIZED (
    SELECT min(due_at) AS first_due, max(due_at) AS last_due,
           min(version) AS version, max(version) AS last_version,
           min(failures) AS failure, max(failures) AS last_failure FROM claimed)
  SELECT array_send(array_agg(subject_id)) AS subject_ids,
         ${Object.entries(CLAIMED)
           .map(([name, [value, differs]]) => {
             const isWanted = `FILTER (WHERE (SELECT ${differs} FROM span))`;
             return `string_agg((${value})::text, ',') ${isWanted} AS ${name}`;
           })
           .join(', ')},
         ${['first_due', 'last_due', 'version', 'failure']
           .map((name) => `(SELECT ${name} FROM span) AS ${name}`)
           .join(', ')},
         floor(date_part('epoch', least(now(), (
           SELECT due_at FROM near_deadlines
            WHERE kind = $1 AND due_at >= ${since('$4::timestamptz')} AND ${due}
            ORDER BY kind, due_at LIMIT 1))) * 1000)::bigint AS oldest_ms,
         date_part('epoch', (
           SELECT due_at FROM near_deadlines WHERE kind = $1 AND due_at > now() AND ${due}
            ORDER BY kind, due_at LIMIT 1) - clock_timestamp()) * 1000 AS next_in_ms
    FROM claimed`;
const CLAIM = claimWhere('true');
const CLAIM_RANGE = claimWhere(inRange(5));

/** Takes one deadline out of the table; false when somebody else has it. */
export async function claimExactly(tx: Transaction, deadline: Deadline): Promise<boolean> {
  const rows = await tx.rows(
    `DELETE FROM near_deadlines WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM near_deadlines
        WHERE kind = $1 AND due_at = $2 AND subject_id = $3 FOR UPDATE SKIP LOCKED))
        AND kind = $1 AND due_at = $2 AND subject_id = $3
     RETURNING 1`,
    [deadline.kind, deadline.dueAt, deadline.subjectId],
  );
  return rows.length > 0;
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
  const rows = await queryRows<{ slot: string }>(
    dataSource,
    `SELECT DISTINCT ceil(extract(epoch FROM due_at) * 1000 / $4::int)::bigint AS slot
       FROM near_deadlines WHERE kind = ANY ($1) AND due_at > $2 AND due_at <= $3`,
    [kinds, after, until, slotMs],
  );
  return rows.map((row) => Number(row.slot) * slotMs);
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
