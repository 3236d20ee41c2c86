import type { DataSource } from 'typeorm';
import type { Seen } from './late-commits';
import { instantParam } from '../database/instant-param';
import { since } from './low-water';
import { queryRows } from '../database/query-rows';

/** A kind that is looked at. */
export interface LookedAt {
  readonly kind: string;
  /** Where to begin to look for its oldest, in milliseconds since the epoch. */
  readonly sinceMs: number;
}

export interface OldestLag {
  /** By how much the oldest near deadline of a kind is overdue, in milliseconds; 0 when none is. */
  readonly lagMs: number;
  /** When it is due, in milliseconds since the epoch; Infinity where there is none. */
  readonly oldestMs: number;
  readonly seen: Seen;
}

/** Of each of these, beside what is asked of it. */
export async function oldestLags<T extends LookedAt>(
  dataSource: DataSource,
  looks: readonly T[],
): Promise<(T & OldestLag)[]> {
  const rows = await queryRows<{ oldest: string | null; at: Date; open: string; next: string }>(
    dataSource,
    `SELECT floor(extract(epoch FROM (
              SELECT due_at FROM near_deadlines d
               WHERE d.kind = k.kind AND d.due_at >= ${since('k.since')}
               ORDER BY d.kind, due_at LIMIT 1)) * 1000) AS oldest,
            now() AS at, pg_snapshot_xmin(s)::text AS open, pg_snapshot_xmax(s)::text AS next
       FROM unnest($1::text[], $2::timestamptz[]) WITH ORDINALITY AS k (kind, since, place),
            pg_current_snapshot() AS s
      ORDER BY place`,
    [looks.map(({ kind }) => kind), looks.map(({ sinceMs }) => instantParam(sinceMs))],
  );
  return rows.map(({ oldest, at, open, next }, index) => {
    const oldestMs = Number(oldest ?? Infinity);
    const seen = { atMs: at.getTime(), oldestOpen: Number(open), next: Number(next) };
    return { ...(looks[index] as T), lagMs: Math.max(0, seen.atMs - oldestMs), oldestMs, seen };
  });
}
