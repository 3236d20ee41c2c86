import { ClaimedBatch } from './claimed-batch';
import type { Deadline, DueDeadline } from '../deadlines/deadline-handler';
import { type DeadlineRow, fromRow } from '../deadlines/deadlines';
import { instantParam } from '../database/instant-param';
import { LowWater, since } from '../deadlines/low-water';
import { IS_PICKED, PLACE } from '../deadlines/picked';
import {
  type DeadlinePlace,
  type DeadlineRange,
  inRange,
  rangeParams,
} from '../deadlines/deadline-range';
import type { Transaction } from '../database/transaction';
import { NIL, Uuids } from '../uuids';

/**
 * Claims up to `limit` deadlines of a kind that have been due for at least `overdueByMs`, oldest
 * first, and takes them out of the table; rows that somebody else is claiming are passed over.
 * A rollback puts them back.
 */
export async function claimDue(
  tx: Transaction,
  kind: string,
  limit: number,
  overdueByMs: number,
  { lowWater = new LowWater(), range, nextUntilMs, from }: ClaimOptions = {},
): Promise<ClaimedBatch> {
  const look = lowWater.begin();
  let oldestMs: number | undefined;
  try {
    const [columns] = await tx.hot<ClaimedColumns>(range ? CLAIM_RANGE : CLAIM, [
      ...[kind, limit, overdueByMs, instantParam(look.fromMs)],
      nextUntilMs === undefined ? null : instantParam(nextUntilMs),
      ...(range
        ? rangeParams(range)
        : [instantParam(from?.dueAt.getTime() ?? look.fromMs), from?.subjectId ?? NIL]),
    ]);
    oldestMs = Number((columns as ClaimedColumns).oldest_ms);
    return batchOf(kind, columns as ClaimedColumns);
  } finally {
    lowWater.end(look, oldestMs);
  }
}

export interface ClaimOptions {
  /** It looks from there on, and raises it. */
  readonly lowWater?: LowWater;
  /** Within these alone. */
  readonly range?: DeadlineRange;
  /** It says when the next one is due, if that is until then: milliseconds since the epoch. */
  readonly nextUntilMs?: number | undefined;
  /** It looks for none before that one; of a range: it has no effect. */
  readonly from?: DeadlinePlace | undefined;
}

interface ClaimedColumns extends Record<ClaimedColumn, string | null> {
  readonly subject_ids: Buffer | null;
  readonly first_due: Date | null;
  readonly last_due: Date | null;
  /** Of those that were due last, the last. */
  readonly last_id: string | null;
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
  const { last_due: dueAt, last_id: subjectId, next_in_ms: nextInMs } = columns;
  const last = dueAt && subjectId ? { dueAt, subjectId } : undefined;
  return new ClaimedBatch(ids, between, takeApart, nextInMs ?? undefined, last);
}

/** What a claim gives back of each deadline beside its subject, where not all have the same. */
const CLAIMED = {
  due_ms: ["round(date_part('epoch', due_at) * 1000)::bigint", 'first_due < last_due'],
  versions: ['version', 'version < last_version'],
  failures: ['failures', 'failure < last_failure'],
} as const;
type ClaimedColumn = keyof typeof CLAIMED;

const MARK = since('$4::timestamptz');

/**
 * Found by ctid alone, so that no plan can turn it into a scan. All rows in one, a value a column:
 * reading rows costs Node and Postgres more than the claim. The oldest is as it was before: what
 * others claim counts, for they may roll back.
 */
const claimWhere = (begin: string, due: string): string => `
  WITH picked AS MATERIALIZED (
    SELECT ${PLACE} FROM near_deadlines
     WHERE kind = $1 AND ${begin} AND due_at <= now() - $3 * interval '1 millisecond'
       AND ${due} ORDER BY kind, due_at, subject_id LIMIT $2 FOR UPDATE SKIP LOCKED
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
         (SELECT subject_id FROM picked ORDER BY due_at DESC, subject_id DESC LIMIT 1) AS last_id,
         floor(date_part('epoch', least(now(), (
           SELECT due_at FROM near_deadlines
            WHERE kind = $1 AND due_at >= ${MARK} AND due_at <= now() AND ${due}
            ORDER BY kind, due_at LIMIT 1))) * 1000)::bigint AS oldest_ms,
         date_part('epoch', (
           SELECT due_at FROM near_deadlines
            WHERE kind = $1 AND due_at > now() AND due_at <= $5::timestamptz AND ${due}
            ORDER BY kind, due_at LIMIT 1) - clock_timestamp()) * 1000 AS next_in_ms
    FROM claimed`;
/** As one pair: of two conditions, the index would begin at either. */
const CLAIM = claimWhere(`(due_at, subject_id) >= (${since('$6::timestamptz')}, $7::uuid)`, 'true');
const CLAIM_RANGE = claimWhere(`due_at >= ${MARK}`, inRange(6));

/** Takes these of a kind out of the table, and answers with them; what somebody else has is passed over, or waited for. */
export async function claimExactly(
  tx: Transaction,
  kind: string,
  deadlines: readonly Deadline[],
  how: 'FOR UPDATE' | 'FOR UPDATE SKIP LOCKED' = 'FOR UPDATE SKIP LOCKED',
): Promise<DueDeadline[]> {
  const rows = await tx.rows<DeadlineRow>(
    `WITH picked AS MATERIALIZED (
       SELECT d.* FROM unnest($2::timestamptz[], $3::uuid[]) AS wanted (due_at, subject_id),
              LATERAL (SELECT ${PLACE} FROM near_deadlines
                        WHERE kind = $1 AND due_at = wanted.due_at AND subject_id = wanted.subject_id
                          ${how}) AS d)
     DELETE FROM near_deadlines WHERE ctid = ANY (ARRAY(SELECT place FROM picked)) AND ${IS_PICKED}
     RETURNING kind, subject_id, due_at, version, failures`,
    [
      kind,
      deadlines.map(({ dueAt }) => instantParam(dueAt.getTime())),
      deadlines.map(({ subjectId }) => subjectId),
    ],
  );
  return rows.map(fromRow);
}
