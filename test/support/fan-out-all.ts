import type { FanOutEvents, Queryable } from '@app/orders';
import { until } from './until';

/** Writes all deliveries; other databases of the server have transactions too, behind which it waits. */
export async function fanOutAll(sql: Queryable, fanOut: FanOutEvents): Promise<void> {
  await until('all events are written down as deliveries', async () => {
    await fanOut.runOnce();
    const [row] = await sql.rows<{ n: string }>(
      `SELECT count(*) AS n FROM order_events e, webhook_cursor c
        WHERE e.tx >= c.tx_from AND (e.tx >= c.tx_until OR e.id > c.last_id)`,
    );
    return Number(row?.n) === 0;
  });
}
