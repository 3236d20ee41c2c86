import type { Pool } from 'pg';

/**
 * The work that everybody here does for an overdue order: status, history, stock of its lines,
 * durable. Written as fast as one statement can be; the products are locked in SKU order, without
 * which two of these deadlock.
 */
export const CLOSE = `
  WITH changed AS (
    UPDATE orders SET status = 'closed', version = version + 1, close_reason = 'payment_timeout',
           closed_at = now()
     WHERE id = ANY ($1::uuid[]) AND status = 'pending_payment' AND closes_at <= now()
    RETURNING id, version
  ), history AS (
    INSERT INTO order_events (order_id, version, type, from_status, to_status, by, reason, tx)
    SELECT id, version, 'order.closed', 'pending_payment', 'closed', 'timer', 'payment_timeout',
           pg_current_xact_id()
      FROM changed
  ), moved AS (
    SELECT sku, sum(quantity)::int AS quantity FROM order_items
     WHERE order_id = ANY ($1::uuid[]) AND order_id IN (SELECT id FROM changed) GROUP BY sku
  ), locked AS MATERIALIZED (
    SELECT p.sku, m.quantity FROM moved m JOIN products p USING (sku)
     ORDER BY p.sku FOR NO KEY UPDATE OF p
  )
  UPDATE products p SET reserved = reserved - l.quantity, available = available + l.quantity
    FROM locked l WHERE p.sku = l.sku`;

/** One order, one transaction. */
export async function closeOne(pool: Pool, orderId: string): Promise<void> {
  await pool.query({ name: 'close', text: CLOSE, values: [[orderId]] });
}

/** Many orders, one transaction. */
export async function closeMany(pool: Pool, orderIds: readonly string[]): Promise<void> {
  await pool.query({ name: 'close', text: CLOSE, values: [orderIds] });
}
