import type { DataSource } from 'typeorm';
import { IS_PICKED, PLACE } from './picked';
import { queryRows } from '../database/query-rows';

/**
 * SQL for the column `far` of a deadline that is inserted with this instant: whether it waits
 * where rings and sweeps do not look. A deadline inserted without it counts as near, whenever it
 * is due: it is found all the same, and only takes up room there.
 */
export function isFar(dueAt: string): string {
  return `(${dueAt}) > now() + interval '1 hour'`;
}

/** Moved at once. */
const BATCH = 2_000;
/**
 * Batches of a kind in one go: what is left over, as where a million are due at one instant, has its next turn,
 * which is due at once.
 */
const MOST_BATCHES = 25;

export interface BroughtNear {
  readonly moved: number;
  /** False where some of a kind are left over. */
  readonly isAll: boolean;
  /** True where some of them were due by then, as after hours without a worker: nothing rings for these. */
  readonly hasOverdue: boolean;
}

/**
 * Moves deadlines of these kinds that are due within `reachMs` to where rings and sweeps look. Any number of
 * processes may do it at once. `reachMs` must be more than an alarm's horizon, so that nothing comes due out of
 * sight. Where `signal` ends it, what is left over has its next turn, here or elsewhere.
 */
export async function bringNear(
  dataSource: DataSource,
  kinds: readonly string[],
  reachMs: number,
  signal?: AbortSignal,
): Promise<BroughtNear> {
  let [moved, isAll, hasOverdue] = [0, true, false];
  for (const kind of kinds) {
    for (let batch = 0; ; batch++) {
      if (signal?.aborted) return { moved, isAll: false, hasOverdue };
      if (batch === MOST_BATCHES) {
        isAll = false;
        break;
      }
      const [row] = await queryRows<{ n: number; has_overdue: boolean | null }>(
        dataSource,
        BRING_NEAR,
        [kind, reachMs, BATCH],
      );
      moved += row?.n ?? 0;
      hasOverdue ||= row?.has_overdue ?? false;
      if ((row?.n ?? 0) < BATCH) break;
    }
  }
  return { moved, isAll, hasOverdue };
}

const BRING_NEAR = `
  WITH picked AS MATERIALIZED (
    SELECT ${PLACE} FROM far_deadlines
     WHERE kind = $1 AND due_at <= now() + $2 * interval '1 millisecond'
     ORDER BY kind, due_at LIMIT $3 FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM far_deadlines WHERE ctid = ANY (ARRAY(SELECT place FROM picked)) AND ${IS_PICKED}
    RETURNING kind, due_at, subject_id, version, failures
  ), near AS (
    INSERT INTO near_deadlines (kind, due_at, subject_id, version, failures)
    SELECT * FROM gone ON CONFLICT DO NOTHING
  )
  SELECT count(*)::int AS n, min(due_at) <= now() AS has_overdue FROM gone`;
