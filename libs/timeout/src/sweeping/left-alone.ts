import type { DataSource } from 'typeorm';
import { kindsUnderWay } from '../draining/batches-under-way';
import { instantParam } from '../database/instant-param';
import { since } from '../deadlines/low-water';
import type { LookedAt } from '../deadlines/oldest-lags';
import { queryRows } from '../database/query-rows';

export interface LeftAlone {
  readonly kind: string;
  /** By how much the oldest that nobody holds is overdue, in milliseconds; 0 where there is none. */
  readonly lagMs: number;
}

/** Those of these kinds of which no process has a batch under way. */
export async function leftAlone(
  dataSource: DataSource,
  late: readonly LookedAt[],
): Promise<LeftAlone[]> {
  if (late.length === 0) return [];
  const kinds = late.map(({ kind }) => kind);
  const underWay = await kindsUnderWay(dataSource, kinds);
  return readFree(
    dataSource,
    late.filter(({ kind }) => !underWay.includes(kind)),
  );
}

/** Holds the oldest of each itself for the moment, which nobody but claims feels. */
async function readFree(dataSource: DataSource, late: readonly LookedAt[]): Promise<LeftAlone[]> {
  const rows = await queryRows<{ kind: string; lag: string | null }>(
    dataSource,
    `SELECT kind, floor(extract(epoch FROM now() - (
              SELECT due_at FROM near_deadlines d
               WHERE d.kind = k.kind AND d.due_at >= ${since('k.since')} AND d.due_at <= now()
               ORDER BY d.kind, due_at LIMIT 1 FOR UPDATE SKIP LOCKED)) * 1000) AS lag
       FROM unnest($1::text[], $2::timestamptz[]) AS k (kind, since)`,
    [late.map(({ kind }) => kind), late.map(({ sinceMs }) => instantParam(sinceMs))],
  );
  return rows.map(({ kind, lag }) => ({ kind, lagMs: Number(lag ?? 0) }));
}
