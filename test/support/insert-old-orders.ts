import type { Queryable } from '@app/orders';

export interface OldOrders {
  readonly count: number;
  readonly newestAt: Date;
  /** Between one order and the next. */
  readonly apartMs: number;
}

/** Of so many customers, amounts from 100 to 100 + AMOUNTS. */
const CUSTOMERS = 5_000;
const AMOUNTS = 997;

/**
 * Many orders of one line (`OLD`), closed long ago, with ids as the placing process makes them. Only
 * for looking at: without history, deadlines and stock.
 */
export async function insertOldOrders(
  sql: Queryable,
  { count, newestAt, apartMs }: OldOrders,
): Promise<void> {
  await sql.rows(
    `WITH old AS (
       INSERT INTO orders (id, customer_id, status, close_reason, amount, currency, version,
                           late_payment, created_at, closes_at, closed_at)
       SELECT (lpad(to_hex(ms), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid,
              'old-' || i % ${CUSTOMERS}, 'closed', 'payment_timeout', 100 + i % ${AMOUNTS}, 'EUR', 2,
              'refund', at, at, at
         FROM (SELECT i, ms, md5(i::text) AS hash, to_timestamp(ms / 1000.0) AS at
                 FROM (SELECT i, $2::bigint - ($1::bigint - i) * $3::bigint AS ms
                         FROM generate_series(1, $1::bigint) AS i) AS numbered) AS dated
       RETURNING id)
     INSERT INTO order_items (order_id, sku, quantity, unit_price) SELECT id, 'OLD', 1, 100 FROM old`,
    [count, newestAt.getTime(), apartMs],
  );
}
