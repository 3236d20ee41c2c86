import type { DataSource } from 'typeorm';
import { SweepUnderWayError } from '../errors';
import { inTransaction } from '../database/in-transaction';
import { EVERYTHING_MS } from '../deadlines/low-water';
import { queryRows } from '../database/query-rows';
import type { Transaction } from '../database/transaction';
import type { DrainCounts } from '../draining/drain-counts';
import { type DeadlineRange, inRange, rangeParams } from '../deadlines/deadline-range';

/** A part of a run in somebody's hands: the deadlines of one kind in a range. */
export interface Shard {
  readonly runId: string;
  readonly shard: number;
  readonly kind: string;
  readonly range: DeadlineRange;
}

/** A process that takes shards. */
export interface ShardHolder {
  readonly id: string;
  /** For people: where it runs. */
  readonly name: string;
}

export interface ShardReport extends DrainCounts {
  readonly shard: number;
  readonly kind: string;
  /** How many were overdue in it as the run began; rings and customers may have been faster. */
  readonly due: number;
  /** Still there as the shard ended: somebody holds them, or the kind stands still. */
  readonly left: number;
  /** How overdue the most overdue was when it was handled. */
  readonly oldestLagMs: number;
  /** Who has had it, one after the other. */
  readonly ranBy: readonly string[];
  readonly state: 'waiting' | 'running' | 'ended';
  /** From when it was first taken; null before. */
  readonly tookMs: number | null;
}

/**
 * A holder who says nothing for so long has lost its shard: a run waits so long for a killed one. A fifth
 * of it is between two words of a holder's. One that is only slow shares its shard with another, and
 * loses nothing.
 */
export const LEASE_MS = 2_500;
const LEASE = `interval '${LEASE_MS} milliseconds'`;
/** A run is over after an hour, whatever is left: the sweeps of all have that. */
const GREATEST_AGE = "interval '1 hour'";
const KEPT_FOR = "interval '7 days'";
/** Two who open a run take turns. In the list of locks of libs/orders (advisory-locks.ts). */
const OPENING = '7126354003';

/** What is later was written while the clock was ahead, by who may be gone. */
const LATEST = "now() + interval '1 minute'";

const IS_OPEN = `ended_at IS NULL AND begun_at > now() - ${GREATEST_AGE} AND begun_at <= ${LATEST}`;
const isHeldUntil = (until: string): string => `${until} > now() AND ${until} <= ${LATEST}`;
/** Nobody has it. */
const IS_FREE = `(${isHeldUntil('lease_until')}) IS NOT TRUE`;
/** Somebody has it, or may still come for it. */
const IS_ALIVE = isHeldUntil(`coalesce(lease_until, begun_at + ${LEASE})`);

/** Runs and their shards in Postgres. A shard is a lease; a batch keeps its counts as it commits. */
export class SweepShards {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Cuts what is overdue of each kind into up to `shards` parts of one size, the most overdue first.
   * @throws {SweepUnderWayError} while another run has shards that somebody is at
   */
  async open(runId: string, kinds: readonly string[], shards: number): Promise<void> {
    await inTransaction(this.dataSource, async (tx) => {
      await tx.rows(`SELECT pg_advisory_xact_lock(${OPENING})`);
      const [other] = await tx.rows<{ run_id: string; seconds: string }>(
        `SELECT run_id, round(extract(epoch FROM now() - begun_at)) AS seconds
           FROM sweep_shards WHERE ${IS_OPEN} AND ${IS_ALIVE} LIMIT 1`,
      );
      if (other) throw new SweepUnderWayError(other.run_id, Number(other.seconds));
      await tx.rows(`DELETE FROM sweep_shards WHERE begun_at < now() - ${KEPT_FOR}`);
      // What an earlier run has left behind belongs to this one now.
      await tx.rows('UPDATE sweep_shards SET ended_at = now() WHERE ended_at IS NULL');
      for (const kind of kinds) await tx.rows(CUT, [runId, kind, shards]);
    });
  }

  /** The first shard of `kind` that nobody has, of this run or of any; undefined when there is none. */
  async take(holder: ShardHolder, kind: string, runId?: string): Promise<Shard | undefined> {
    const [row] = await queryRows<TakenRow>(this.dataSource, TAKE, [
      ...[holder.id, holder.name, kind, runId ?? null],
    ]);
    return row && fromRow(row);
  }

  /** False when the shard is not this holder's any more. */
  async renew({ runId, shard }: Shard, holder: ShardHolder): Promise<boolean> {
    const rows = await queryRows(
      this.dataSource,
      `UPDATE sweep_shards SET lease_until = now() + ${LEASE}
        WHERE run_id = $1 AND shard = $2 AND holder = $3 AND ended_at IS NULL RETURNING 1`,
      [runId, shard, holder.id],
    );
    return rows.length > 0;
  }

  /** Somebody else may have it at once. */
  async giveBack({ runId, shard }: Shard, holder: ShardHolder): Promise<void> {
    await queryRows(
      this.dataSource,
      'UPDATE sweep_shards SET lease_until = now() WHERE run_id = $1 AND shard = $2 AND holder = $3',
      [runId, shard, holder.id],
    );
  }

  /** What a batch of it has done, in the batch's own transaction: told exactly once, like its effects. */
  async keep(
    tx: Transaction,
    { runId, shard }: Shard,
    { found, changed, lost, putBack, failed }: DrainCounts,
    oldestLagMs: number,
  ): Promise<void> {
    const done = [found, changed, lost, putBack, failed, Math.max(0, Math.round(oldestLagMs))];
    await tx.hot(KEEP, [runId, shard, ...done]);
  }

  async countLeft({ kind, range }: Shard): Promise<number> {
    const [row] = await queryRows<{ left: string }>(
      this.dataSource,
      `SELECT count(*) AS "left" FROM near_deadlines WHERE kind = $1 AND ${inRange(2)}`,
      [kind, ...rangeParams(range)],
    );
    return Number(row?.left ?? 0);
  }

  async end({ runId, shard }: Shard, left: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE sweep_shards SET ended_at = clock_timestamp(), remaining = $3
        WHERE run_id = $1 AND shard = $2 AND ended_at IS NULL`,
      [runId, shard, left],
    );
  }

  /** Ends what is left of a run that is over for its age, where nobody is at it any more. */
  async endOld(runId: string): Promise<void> {
    const rows = await queryRows<TakenRow>(
      this.dataSource,
      `SELECT ${TAKEN} FROM sweep_shards
        WHERE run_id = $1 AND ended_at IS NULL AND NOT (${IS_OPEN})
          AND ${IS_FREE}`,
      [runId],
    );
    for (const shard of rows.map(fromRow)) await this.end(shard, await this.countLeft(shard));
  }

  /**
   * The kinds that have a shard which has not ended, and when its run began, in milliseconds since
   * the epoch: before everything where nobody is at any.
   */
  async underWay(kinds: readonly string[]): Promise<Map<string, number>> {
    const rows = await queryRows<{ kind: string; begun_at: Date | null }>(
      this.dataSource,
      `SELECT kind, max(begun_at) FILTER (WHERE ${IS_ALIVE}) AS begun_at FROM sweep_shards
        WHERE kind = ANY ($1) AND ${IS_OPEN} GROUP BY kind`,
      [kinds],
    );
    return new Map(
      rows.map(({ kind, begun_at: begunAt }) => [kind, begunAt?.getTime() ?? EVERYTHING_MS]),
    );
  }

  /** In the order of their numbers; none when the run found nothing overdue, or is forgotten. */
  async read(runId: string): Promise<ShardReport[]> {
    const rows = await queryRows<Record<string, string> & Pick<ShardReport, 'ranBy' | 'state'>>(
      this.dataSource,
      READ,
      [runId],
    );
    return rows.map(({ kind = '', ranBy, state, tookMs, ...counts }) => ({
      ...(Object.fromEntries(
        Object.entries(counts).map(([name, value]) => [name, Number(value)]),
      ) as unknown as Counted),
      ...{ kind, ranBy, state },
      tookMs: tookMs === null || tookMs === undefined ? null : Math.max(0, Number(tookMs)),
    }));
  }
}

type Counted = Omit<ShardReport, 'kind' | 'ranBy' | 'state' | 'tookMs'>;

const TAKEN = 'run_id, shard, kind, after_due_at, after_id, until_due_at, until_id';

interface TakenRow {
  readonly run_id: string;
  readonly shard: number;
  readonly kind: string;
  readonly after_due_at: Date;
  readonly after_id: string;
  readonly until_due_at: Date;
  readonly until_id: string;
}

function fromRow(row: TakenRow): Shard {
  return {
    runId: row.run_id,
    shard: row.shard,
    kind: row.kind,
    range: {
      after: { dueAt: row.after_due_at, subjectId: row.after_id },
      until: { dueAt: row.until_due_at, subjectId: row.until_id },
    },
  };
}

/**
 * By one walk along the index that claims use. The last shard ends with the instant of the run, so
 * that a deadline that appears behind the last of now belongs to it.
 */
const CUT = `
  WITH due AS MATERIALIZED (
    SELECT due_at, subject_id, row_number() OVER (ORDER BY due_at, subject_id) AS place
      FROM near_deadlines WHERE kind = $2 AND due_at <= now()),
  size AS (SELECT count(*) AS every, ceil(count(*)::numeric / $3)::bigint AS each FROM due),
  ends AS (
    SELECT due_at, subject_id, place, place = every AS is_last FROM due, size
     WHERE place % each = 0 OR place = every)
  INSERT INTO sweep_shards (run_id, shard, kind, begun_at, due, after_due_at, after_id, until_due_at, until_id)
  SELECT $1, (SELECT count(*) FROM sweep_shards WHERE run_id = $1) + row_number() OVER places, $2, now(),
         place - lag(place, 1, 0::bigint) OVER places,
         lag(due_at, 1, (SELECT least('epoch', min(due_at) - interval '1 millisecond') FROM due)) OVER places,
         lag(subject_id, 1, '00000000-0000-0000-0000-000000000000') OVER places,
         CASE WHEN is_last THEN now() ELSE due_at END,
         CASE WHEN is_last THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff' ELSE subject_id END
    FROM ends WINDOW places AS (ORDER BY place)`;

const TAKE = `
  UPDATE sweep_shards
     SET holder = $1, lease_until = now() + ${LEASE}, taken_at = coalesce(taken_at, now()),
         ran_by = CASE WHEN ran_by[cardinality(ran_by)] = $2 THEN ran_by ELSE ran_by || $2::text END
   WHERE (run_id, shard) = (
     SELECT run_id, shard FROM sweep_shards
      WHERE kind = $3 AND ${IS_OPEN} AND ${IS_FREE}
        AND ($4::uuid IS NULL OR run_id = $4)
      ORDER BY begun_at, shard LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING ${TAKEN}`;

/**
 * The others of a shard update the same row as the last thing before they commit. A batch has done all
 * its work by then, so it waits for them as long as a statement may take: the short wait for a subject's
 * row would have it done anew, and its subjects blamed, wherever a commit is slow.
 */
const KEEP = `
  UPDATE sweep_shards
     SET found = found + $3, changed = changed + $4, lost = lost + $5, put_back = put_back + $6,
         failed = failed + $7, oldest_lag_ms = greatest(oldest_lag_ms, $8)
   WHERE run_id = $1 AND shard = $2 AND set_config('lock_timeout', '0', true) IS NOT NULL`;

const READ = `
  SELECT shard, kind, due, found, changed, lost, put_back AS "putBack", failed,
         remaining AS "left", oldest_lag_ms AS "oldestLagMs", ran_by AS "ranBy",
         CASE WHEN ended_at IS NOT NULL THEN 'ended'
              WHEN ${IS_FREE} THEN 'waiting' ELSE 'running' END AS state,
         round(extract(epoch FROM coalesce(ended_at, clock_timestamp()) - taken_at) * 1000) AS "tookMs"
    FROM sweep_shards WHERE run_id = $1 ORDER BY shard`;
