import { until } from './until';
import type { World } from './world';

export const SKUS = 1_000;
const PLENTY = 1_000_000_000;

export const skuAt = (index: number): string => `SKU-${String(index).padStart(6, '0')}`;
/** The same in SQL. */
export const SKU_AT = (index: string): string => `'SKU-' || to_char(${index}, 'FM000000')`;

/** Products with more stock than any benchmark can sell. */
export async function fillProducts({ pool }: World, count = SKUS): Promise<void> {
  await pool.query(
    `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
     SELECT ${SKU_AT('i')}, 'Product ' || i, 1000 + i, 'EUR', $2, $2
       FROM generate_series(0, $1 - 1) AS i`,
    [count, PLENTY],
  );
}

export interface PendingOrders {
  readonly count: number;
  /** When the first is due, in seconds from the database's now. */
  readonly dueInS: number;
  /** They are due evenly over this time; 0 = all at the same instant. */
  readonly spreadS?: number;
  readonly customers?: number;
  /** Of so many products. */
  readonly products?: number;
}

/**
 * Writes orders as placing writes them: order, two lines, history, reserved stock and deadline.
 * Returns the instant at which the first is due.
 */
export async function fillPendingOrders(
  { pool }: World,
  { count, dueInS, spreadS = 0, customers = 1_000, products = SKUS }: PendingOrders,
): Promise<Date> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(
      `CREATE TEMP TABLE draft ON COMMIT DROP AS
       SELECT i, uuidv7() AS id, 'customer-' || i % $4::int AS customer_id,
              (now() + ($2::float8 + i * $3::float8 / $1) * interval '1 second')::timestamptz(3)
                AS closes_at
         FROM generate_series(0, $1::int - 1) AS i`,
      [count, dueInS, spreadS, customers],
    );
    await client.query(
      `INSERT INTO orders (id, customer_id, status, amount, currency, late_payment,
                           ship_within_ms, receive_within_ms, created_at, pay_by, closes_at)
       SELECT id, customer_id, 'pending_payment', 3000, 'EUR', 'refund', 2592000000, 1209600000,
              now(), closes_at - interval '1 minute', closes_at FROM draft ORDER BY i`,
    );
    await client.query(
      `INSERT INTO order_events (order_id, version, type, to_status, by, actor)
       SELECT id, 1, 'order.placed', 'pending_payment', 'customer', customer_id
         FROM draft ORDER BY i`,
    );
    await client.query(
      `INSERT INTO order_items (order_id, sku, quantity, unit_price)
       SELECT id, p.sku, 1, p.unit_price
         FROM draft, LATERAL (VALUES (0), (1)) AS line (n),
              LATERAL (SELECT ${SKU_AT('(i * 7 + n * 13) % $1::int')} AS sku) AS s
         JOIN products p ON p.sku = s.sku ORDER BY i, n`,
      [products],
    );
    await client.query(
      `UPDATE products p SET reserved = reserved + n, available = available - n
         FROM (SELECT sku, sum(quantity)::int AS n FROM order_items
                WHERE order_id IN (SELECT id FROM draft) GROUP BY sku) AS lines
        WHERE p.sku = lines.sku`,
    );
    await client.query(
      `INSERT INTO deadlines (kind, due_at, subject_id, version)
       SELECT 'payment', closes_at, id, 1 FROM draft ORDER BY i`,
    );
    const { rows } = await client.query<{ due: Date }>('SELECT min(closes_at) AS due FROM draft');
    await client.query('COMMIT');
    // Events of orders that have waited for minutes are relayed by then.
    await client.query(
      `UPDATE relay_cursor SET tx_from = x, tx_until = x
         FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS x) AS now`,
    );
    return rows[0]?.due as Date;
  } finally {
    client.release();
  }
}

/** As after minutes of waiting: statistics are there, and pages have been written since. */
export async function settle({ pool }: World): Promise<void> {
  await pool.query('VACUUM ANALYZE');
  await pool.query('CHECKPOINT');
}

/** Sooner than the relay goes on, which waits for the end of a burst and is none of its cost. */
const POLL_MS = 50;

/** Until their stock is back, too. */
export async function untilAllClosed(world: World): Promise<void> {
  for (let closed = false; !closed;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const [row] = await world.rows<{ closed: boolean }>(
      // The youngest is among the last: until it is closed, nobody has to read them all.
      `SELECT CASE WHEN (SELECT status FROM orders ORDER BY id DESC LIMIT 1) <> 'pending_payment'
                   THEN NOT EXISTS (SELECT FROM unfolded_stock_movements)
                    AND NOT EXISTS (SELECT FROM orders WHERE status = 'pending_payment')
                   ELSE false END AS closed`,
    );
    closed = row?.closed ?? false;
  }
}

/** Until the stock of all that is closed is back. */
export const untilFolded = (world: World): Promise<void> =>
  until('all stock is back', async () => {
    const [row] = await world.rows<{ left: boolean }>(
      'SELECT EXISTS (SELECT FROM unfolded_stock_movements) AS left',
    );
    return row?.left === false;
  });

/** Every order closed exactly once, each with its event, and all stock back: or it does not count. */
export async function assertClosedCompletely(world: World, count: number): Promise<void> {
  const [row] = await world.rows<{ closed: string; events: string; reserved: string }>(
    `SELECT (SELECT count(*) FROM orders WHERE status = 'closed') AS closed,
            (SELECT count(*) FROM order_events WHERE to_status = 'closed') AS events,
            (SELECT sum(reserved) FROM products) AS reserved`,
  );
  const { closed, events, reserved } = row as { closed: string; events: string; reserved: string };
  if (Number(closed) === count && Number(events) === count && Number(reserved) === 0) return;
  throw new Error(
    `Of ${count} orders ${closed} are closed, with ${events} events; ${reserved} pieces reserved`,
  );
}

/** Lag of each close behind its deadline in milliseconds, by the commit that made it durable. */
export interface CloseTimes {
  readonly perSecond: number;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
}

/**
 * Of the orders that are due from `since` on. Needs `track_commit_timestamp`: the row's newest version
 * names the transaction that closed it.
 */
export async function closeTimes(world: World, since = new Date(0)): Promise<CloseTimes> {
  const [row] = await world.rows<Record<keyof CloseTimes, number>>(
    `WITH lags AS (
       SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - closes_at)::float8 * 1000 AS lag,
              pg_xact_commit_timestamp(xmin) AS at, closes_at
         FROM orders WHERE status = 'closed' AND closes_at >= $1)
     SELECT count(*)::float8 / extract(epoch FROM max(at) - min(closes_at))::float8 AS "perSecond",
            min(lag) AS "firstMs", max(lag) AS "lastMs",
            percentile_cont(0.5) WITHIN GROUP (ORDER BY lag) AS "p50Ms",
            percentile_cont(0.99) WITHIN GROUP (ORDER BY lag) AS "p99Ms"
       FROM lags`,
    [since],
  );
  return row as CloseTimes;
}
