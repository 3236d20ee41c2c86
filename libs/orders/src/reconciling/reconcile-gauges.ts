import type { Queryable } from '../order/order-rows';

/** Runs that look back so far tell how the books are; an operator's short look does not. */
const TELLING = "finished_at IS NOT NULL AND since <= started_at - interval '6 days'";
/** After that nobody knows how the books are: one night may fail. */
const TOLD_FOR = "interval '2 days'";
/** Where no night has begun for so long, nobody means to compare at night any more. */
const MEANT_FOR = "interval '30 days'";

export interface ReconcileGauges {
  /** Differences that the newest comparison of a week has left open; null when there was none for two days. */
  readonly reconcileDifferences: number | null;
  /**
   * How long ago the newest comparison of a week began that came to its end; where none has, the first night's.
   * Null where no night has begun for 30 days, or ever, whatever an operator has compared.
   */
  readonly reconcileAgeSeconds: number | null;
}

export async function readReconcileGauges(sql: Queryable): Promise<ReconcileGauges> {
  const [row] = await sql.rows<{ differences: number | null; age: string | null }>(
    `SELECT CASE WHEN newest.started_at > now() - ${TOLD_FOR} THEN (
              SELECT count(*)::int FROM reconcile_findings
               WHERE run_id = newest.id AND state = 'open') END AS differences,
            extract(epoch FROM now() - CASE WHEN nights.first IS NOT NULL
              THEN coalesce(newest.started_at, nights.first) END) AS age
       FROM (SELECT min(started_at) AS first FROM reconcile_runs
              WHERE is_nightly AND started_at > now() - ${MEANT_FOR}) nights
       LEFT JOIN LATERAL (
         SELECT id, started_at FROM reconcile_runs WHERE ${TELLING}
          ORDER BY started_at DESC LIMIT 1) newest ON true`,
  );
  const { differences = null, age = null } = row ?? {};
  return {
    reconcileDifferences: differences,
    reconcileAgeSeconds: age === null ? null : Math.max(0, Number(age)),
  };
}
