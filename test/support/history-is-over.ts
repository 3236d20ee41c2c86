import type { Queryable } from '@app/orders';
import { until } from './until';

/** All that is in the history can be read by windows: transactions of other tests on this server are waited for. */
export function historyIsOver(sql: Queryable): Promise<unknown> {
  return until('the transactions before are over', async () => {
    const [row] = await sql.rows<{ over: boolean }>(
      `SELECT event_tx(pg_snapshot_xmin(pg_current_snapshot())) > greatest(
         (SELECT tx FROM order_events ORDER BY tx DESC LIMIT 1),
         (SELECT tx FROM operator_actions ORDER BY tx DESC LIMIT 1)) AS over`,
    );
    return row?.over !== false;
  });
}
