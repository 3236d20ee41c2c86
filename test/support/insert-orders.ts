import { randomBytes } from 'node:crypto';
import type { Queryable } from '@app/orders';

export interface OrdersToInsert {
  readonly count: number;
  /** Milliseconds until `closes_at`, for all of them or for each; negative means overdue. */
  readonly closesInMs: number | readonly number[];
  readonly customerId?: string;
  readonly sku?: string;
  readonly quantity?: number;
  /** One payment each: `open` at the provider, or ended in our books. */
  readonly payment?: 'open' | 'failed';
  /** At which provider; the sandbox by default. */
  readonly provider?: string;
  readonly latePayment?: 'refund' | 'revive' | 'hold';
  readonly shipWithinMs?: number | null;
  readonly receiveWithinMs?: number | null;
}

export interface InsertedOrder {
  readonly id: string;
  readonly closesAt: Date;
  readonly paymentId: string | null;
  readonly amount: number;
}

export const TEST_SKU = 'TEA';
export const UNIT_PRICE = 500;

/** A product with so many pieces, for orders to be written about. */
export async function insertProduct(sql: Queryable, sku = TEST_SKU, onHand = 1_000_000) {
  await sql.rows(
    `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
     VALUES ($1, $1, $2, 'EUR', $3, $3) ON CONFLICT (sku) DO NOTHING`,
    [sku, UNIT_PRICE, onHand],
  );
}

/** Pending orders as placing writes them, with stock, history, key and deadline, in one statement. */
export async function insertOrders(
  sql: Queryable,
  wanted: OrdersToInsert,
): Promise<InsertedOrder[]> {
  const { count, closesInMs, sku = TEST_SKU, quantity = 1, payment } = wanted;
  const offsets =
    typeof closesInMs === 'number' ? Array.from({ length: count }, () => closesInMs) : closesInMs;
  const ids = offsets.map(() => timeOrderedId());
  const paymentIds = offsets.map(() => timeOrderedId());
  await insertProduct(sql, sku);
  const rows = await sql.rows<{ id: string; closes_at: Date }>(INSERT, [
    ids,
    offsets,
    wanted.customerId ?? 'ann',
    sku,
    quantity,
    UNIT_PRICE,
    wanted.latePayment ?? 'refund',
    payment ? paymentIds : [],
    payment ?? 'open',
    wanted.shipWithinMs === undefined ? 30 * 86_400_000 : wanted.shipWithinMs,
    wanted.receiveWithinMs === undefined ? 14 * 86_400_000 : wanted.receiveWithinMs,
    wanted.provider ?? 'sandbox',
  ]);
  const closesAt = new Map(rows.map((row) => [row.id, row.closes_at]));
  return ids.map((id, index) => ({
    id,
    closesAt: closesAt.get(id) as Date,
    paymentId: payment ? (paymentIds[index] as string) : null,
    amount: quantity * UNIT_PRICE,
  }));
}

const INSERT = `
  WITH given AS (
    SELECT id, now()::timestamptz(3) + closes_in * interval '1 millisecond' AS closes_at, n
      FROM unnest($1::uuid[], $2::float8[]) WITH ORDINALITY AS g (id, closes_in, n)
  ), placed AS (
    INSERT INTO orders (id, customer_id, status, amount, currency, late_payment, ship_within_ms,
                        receive_within_ms, created_at, pay_by, closes_at)
    SELECT id, $3, 'pending_payment', $5::int * $6::bigint, 'EUR', $7, $10::bigint, $11::bigint,
           least(now(), closes_at - interval '11 minutes'), closes_at - interval '1 minute', closes_at
      FROM given RETURNING id, closes_at
  ), history AS (
    INSERT INTO order_events (order_id, version, type, to_status, by, actor)
    SELECT id, 1, 'order.placed', 'pending_payment', 'customer', $3 FROM given
  ), lines AS (
    INSERT INTO order_items (order_id, sku, quantity, unit_price)
    SELECT id, $4, $5::int, $6::bigint FROM given
  ), keys AS (
    INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id)
    SELECT $3, id::text, 'test', id FROM given
  ), due AS (
    INSERT INTO deadlines (kind, due_at, subject_id) SELECT 'payment', closes_at, id FROM given
  ), attempts AS (
    INSERT INTO payments (id, order_id, provider, provider_payment_id, status, amount, currency,
                          expires_at)
    SELECT p.id, g.id, $12, 'pay-' || p.id, $9, $5::int * $6::bigint, 'EUR', g.closes_at
      FROM unnest($8::uuid[]) WITH ORDINALITY AS p (id, n) JOIN given g USING (n)
  ), stock AS (
    UPDATE products SET available = available - $5::int * taken, reserved = reserved + $5::int * taken
      FROM (SELECT count(*)::int AS taken FROM given) AS t WHERE sku = $4
  )
  SELECT id, closes_at FROM placed`;

/** A UUIDv7, made here because the uuid package is an ES module that plain Node tools load late. */
function timeOrderedId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  const rest = randomBytes(10).toString('hex');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6, 18)}`;
}
