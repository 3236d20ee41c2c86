import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Alarm } from '../../timer-driver';
import type { HeadMark } from './head-mark';

/** Notified by a {@link headNotice} when an alarm was armed that rings before all others of its queue. */
export const CHANNEL = 'lastcall_alarms';
/** No alarm's id, as those have no dot: the row that is gone when the table was emptied. */
const MARKER = '.generation';
const PAGE = 1_000;

/**
 * Where each of some ids lies. Asked for one by one, by the primary key, which nothing else can stand
 * in for: to Postgres, which has counted a queue that was empty, all of it is less than a few ids.
 */
const EACH = `
  SELECT one.* FROM unnest($2::text[]) AS wanted (id) CROSS JOIN LATERAL (
    SELECT ctid AS place, id FROM alarms WHERE queue = $1 AND alarms.id = wanted.id`;

/**
 * A row that is `picked`, by its place and, as a place is unique in one partition only, by its key. In a CASE,
 * as a look-up: no index is to be read for it.
 */
const IS_PICKED = `ctid = ANY (ARRAY(SELECT place FROM picked))
  AND CASE WHEN queue IS NOT NULL THEN queue = $1 AND id IN (SELECT id FROM picked) END`;
const picked = (which: string): string => `WITH picked AS MATERIALIZED (${which})`;

/** There is an alarm of `queue` at this instant, or none before it. */
export interface HeadNotice {
  readonly queue: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

const headNotice = ({ queue, atMs }: HeadNotice): string => `${atMs} ${queue}`;

/** Of something else that was notified on the {@link CHANNEL} the queue is nobody's. */
export function headNoticeOf(payload: string): HeadNotice {
  const [at = ''] = payload.split(' ', 1);
  return { queue: payload.slice(at.length + 1), atMs: Number(at) };
}

/** As Postgres reads it: an instant, or before or after all of them. */
const instant = (ms: number): Date | number => (Number.isFinite(ms) ? new Date(ms) : ms);
const msOf = (at: Date | number | null | undefined): number =>
  at instanceof Date ? at.getTime() : Infinity;

/**
 * The statements of one queue of alarms; each is a transaction of its own. Rows that were locked
 * are found again by ctid: to Postgres a queue may look all but empty when a rush has just filled
 * it, and a join by id is then a loop over all of it for each of them.
 *
 * Those that ask for instants write `queue || ''`, as their index does; those that ask for ids don't.
 */
export class AlarmTable {
  constructor(
    private readonly pool: Pool,
    private readonly queue: string,
    /** What is leased and not forgotten by then rings again: its process died. */
    private readonly leaseMs: number,
    private readonly mark: HeadMark,
  ) {}

  /** Those that ring just now are armed anew; the others are left as they are. */
  async arm(alarms: readonly Alarm[]): Promise<void> {
    const byId = new Map(alarms.map((alarm) => [alarm.id, alarm]));
    // In one order everywhere, ours: two that want the same ids do not wait for each other in a circle.
    const ids = [...byId.keys()].sort();
    const atMs = Math.min(...alarms.map(({ at }) => at.getTime()));
    const notice = headNotice({ queue: this.queue, atMs });
    const given = [this.queue, ids, ids.map((id) => byId.get(id)?.at), CHANNEL, notice];
    try {
      await this.mark.look(async (fromMs) => {
        const { rows } = await this.pool.query<{ head: Date | number | null }>(
          `WITH head AS (SELECT look_at FROM alarms WHERE queue || '' = $1 AND look_at >= $6
                          ORDER BY look_at LIMIT 1),
                armed AS (
                  INSERT INTO alarms (queue, id, at, look_at)
                  SELECT $1, id, at, at FROM unnest($2::text[], $3::timestamptz[]) AS new (id, at)
                  ON CONFLICT (queue, id) DO UPDATE
                    SET at = EXCLUDED.at, look_at = EXCLUDED.look_at, lease = NULL
                    WHERE alarms.lease IS NOT NULL
                  RETURNING at),
                first AS (SELECT min(at) AS at FROM armed)
           SELECT look_at AS head,
                  CASE WHEN first.at < coalesce(look_at, 'infinity') THEN pg_notify($4, $5) END
             FROM first LEFT JOIN head ON true`,
          [...given, instant(fromMs)],
        );
        return msOf(rows[0]?.head);
      });
    } finally {
      // Also where no answer came: it may have been armed.
      this.mark.lower(atMs);
    }
  }

  async disarm(ids: readonly string[]): Promise<void> {
    await this.pool.query(
      `${picked(`${EACH} AND lease IS NULL FOR UPDATE) AS one`)} DELETE FROM alarms WHERE ${IS_PICKED}`,
      [this.queue, [...ids].sort()],
    );
  }

  /** When the first one has to be looked at, in ms since the epoch; Infinity when none is armed. */
  head(): Promise<number> {
    return this.mark.look(async (fromMs) => {
      const { rows } = await this.pool.query<{ at: Date | number }>(
        `SELECT look_at AS at FROM alarms WHERE queue || '' = $1 AND look_at >= $2
          ORDER BY look_at LIMIT 1`,
        [this.queue, instant(fromMs)],
      );
      return msOf(rows[0]?.at);
    });
  }

  /** Leases those due, the earliest first; others that take at the same time get other ones. */
  async take(nowMs: number, limit: number, lease: string): Promise<Alarm[]> {
    const { rows } = await this.pool.query<Alarm>(
      `${picked(`SELECT ctid AS place, id FROM alarms
                  WHERE queue || '' = $1 AND look_at <= $2 AND look_at >= $6
                  ORDER BY look_at LIMIT $3 FOR UPDATE SKIP LOCKED`)}
       UPDATE alarms SET lease = $4, look_at = $2::timestamptz + $5 * interval '1 millisecond'
        WHERE ${IS_PICKED} RETURNING id, at`,
      [this.queue, new Date(nowMs), limit, lease, this.leaseMs, instant(this.mark.fromMs)],
    );
    return rows.sort((a, b) => a.at.getTime() - b.at.getTime());
  }

  /** What was armed again meanwhile has no lease any more, or is being armed: it stays. */
  async forget(ids: readonly string[], lease: string): Promise<void> {
    await this.pool.query(
      `${picked(`${EACH} AND lease = $3 FOR UPDATE SKIP LOCKED) AS one`)}
       DELETE FROM alarms WHERE ${IS_PICKED}`,
      [this.queue, ids, lease],
    );
  }

  /** Each to the instant it has here. */
  async putBack(alarms: readonly Alarm[], lease: string): Promise<void> {
    const ordered = [...alarms].sort((one, other) => (one.id < other.id ? -1 : 1));
    await this.pool.query(
      `${picked(`${EACH} AND lease = $4 FOR UPDATE) AS one`)}
       UPDATE alarms SET lease = NULL,
              look_at = ($3::timestamptz[])[array_position($2::text[], alarms.id)]
        WHERE ${IS_PICKED}`,
      [this.queue, ordered.map(({ id }) => id), ordered.map(({ at }) => at), lease],
    );
    this.mark.lower(Math.min(...alarms.map(({ at }) => at.getTime())));
  }

  async generation(): Promise<string> {
    const { rows } = await this.pool.query<{ lease: string }>(
      `WITH made AS (
         INSERT INTO alarms (queue, id, at, look_at, lease)
         SELECT $1, $2, 'infinity', 'infinity', $3
          WHERE NOT EXISTS (SELECT FROM alarms WHERE queue = $1 AND id = $2)
         ON CONFLICT DO NOTHING RETURNING lease)
       SELECT lease FROM made UNION ALL SELECT lease FROM alarms WHERE queue = $1 AND id = $2`,
      [this.queue, MARKER, randomUUID()],
    );
    // Somebody else made it just now, unseen by our snapshot.
    return rows[0]?.lease ?? this.generation();
  }

  async *alarms(): AsyncGenerator<Alarm> {
    for (let after = ''; ;) {
      const { rows } = await this.pool.query<Alarm & { lease: string | null }>(
        `SELECT id, at, lease FROM alarms WHERE queue = $1 AND id > $2 ORDER BY id LIMIT $3`,
        [this.queue, after, PAGE],
      );
      // What is leased rings just now, and the marker is no alarm.
      yield* rows.filter(({ lease }) => lease === null).map(({ id, at }) => ({ id, at }));
      if (rows.length < PAGE) return;
      after = rows.at(-1)?.id ?? after;
    }
  }
}
