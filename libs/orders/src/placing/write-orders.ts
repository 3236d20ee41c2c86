import { isFar, type Transaction } from '@app/timeout';
import type { Settings } from '../config';
import { DEADLINES } from '../order/deadline-table';
import { NEW_EVENT_TX } from '../order/event-tx';
import { EMPTY_BALANCE, type OrderItem, type OrderView } from '../order/order';
import { sumBySku } from '../stock/products';

export interface PlaceRequest {
  readonly customerId: string;
  readonly idempotencyKey: string;
  readonly bodyHash: string;
  /** One line a SKU, in SKU order. */
  readonly items: readonly { readonly sku: string; readonly quantity: number }[];
  /** Any other total is refused; undefined takes any. */
  readonly expectedTotal?: number | undefined;
}

/** An order that will be written. */
export interface Draft {
  readonly id: string;
  readonly request: PlaceRequest;
  readonly items: readonly OrderItem[];
  readonly amount: number;
  readonly currency: string;
}

/** Names an idempotency key; keys of two customers are two keys. */
export const keyOf = (request: { customerId: string; idempotencyKey: string }): string =>
  `${request.customerId}\n${request.idempotencyKey}`;

/** The instants of orders that are placed together. */
export interface Placing {
  readonly at: Date;
  readonly payBy: Date;
  readonly closesAt: Date;
}

/**
 * Writes orders, keys, lines, history, deadlines and stock of some drafts; answers with what was
 * written of the orders' instants. One statement: the products are locked already, so all of it
 * sees what was decided on.
 */
export async function writeOrders(
  tx: Transaction,
  drafts: readonly Draft[],
  config: Settings,
): Promise<Placing> {
  // Sorted, so that two groups that share keys wait for each other in one direction only.
  const sorted = [...drafts].sort((a, b) => (keyOf(a.request) < keyOf(b.request) ? -1 : 1));
  const stock = sumBySku(drafts.flatMap(({ items }) => items));
  const [written] = await tx.hot<WrittenRow>(WRITE, [
    sorted.map(({ id }) => id),
    sorted.map(({ request }) => request.customerId),
    sorted.map(({ amount }) => amount),
    sorted.map(({ currency }) => currency),
    config.LATE_PAYMENT,
    config.SHIP_WITHIN,
    config.RECEIVE_WITHIN,
    config.PAYMENT_WINDOW,
    config.PAYMENT_GRACE,
    drafts.flatMap(({ id, items }) => items.map(() => id)),
    drafts.flatMap(({ items }) => items.map(({ sku }) => sku)),
    drafts.flatMap(({ items }) => items.map(({ quantity }) => quantity)),
    drafts.flatMap(({ items }) => items.map(({ unitPrice }) => unitPrice)),
    sorted.map(({ request }) => request.idempotencyKey),
    sorted.map(({ request }) => request.bodyHash),
    [...stock.keys()],
    [...stock.values()],
  ]);
  if (written?.keys !== drafts.length) throw new KeyTakenMeanwhileError();
  if (written.reserved !== stock.size) throw new Error('The lock on the products did not hold');
  return { at: written.at, payBy: written.pay_by, closesAt: written.closes_at };
}

interface WrittenRow {
  at: Date;
  pay_by: Date;
  closes_at: Date;
  keys: number;
  reserved: number;
}

const WRITE = `
  WITH drafts AS (
    SELECT d.*, at, at + $8 * interval '1 millisecond' AS pay_by,
           at + ($8 + $9) * interval '1 millisecond' AS closes_at
      FROM (SELECT now()::timestamptz(3) AS at) AS clock, unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $14::text[], $15::text[])
        AS d (id, customer_id, amount, currency, key, body_hash)
  ), keys AS (
    INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id)
    SELECT customer_id, key, body_hash, id FROM drafts
    ON CONFLICT DO NOTHING RETURNING 1
  ), placed AS (
    INSERT INTO orders (id, customer_id, status, amount, currency, late_payment,
                        ship_within_ms, receive_within_ms, created_at, pay_by, closes_at,
                        event_tx)
    SELECT id, customer_id, 'pending_payment', amount, currency, $5, $6, $7, at, pay_by, closes_at,
           ${NEW_EVENT_TX}
      FROM drafts
  ), history AS (
    INSERT INTO order_events (order_id, version, type, to_status, by, actor, tx)
    SELECT id, 1, 'order.placed', 'pending_payment', 'customer', customer_id, ${NEW_EVENT_TX}
      FROM drafts
  ), lines AS (
    INSERT INTO order_items (order_id, sku, quantity, unit_price)
    SELECT * FROM unnest($10::uuid[], $11::text[], $12::int[], $13::bigint[])
  ), due AS (
    INSERT INTO deadlines (kind, due_at, subject_id, version, far)
    SELECT 'payment', ${DEADLINES.payment.dueAt}, id, 1, ${isFar(DEADLINES.payment.dueAt)} FROM drafts
  ), stock AS (
    UPDATE products p SET available = available - r.quantity, reserved = reserved + r.quantity
      FROM unnest($16::text[], $17::int[]) AS r (sku, quantity)
     WHERE p.sku = r.sku AND available >= r.quantity RETURNING 1
  )
  SELECT at, pay_by, closes_at,
         (SELECT count(*)::int FROM keys) AS keys, (SELECT count(*)::int FROM stock) AS reserved
    FROM drafts LIMIT 1`;

/** What reading the order back would answer. */
export function viewOf(draft: Draft, { at, payBy, closesAt }: Placing): OrderView {
  const { id, request, items, amount, currency } = draft;
  const createdAt = at.toISOString();
  return {
    id,
    customerId: request.customerId,
    status: 'pending_payment',
    closeReason: null,
    items,
    amount,
    currency,
    createdAt,
    payBy: payBy.toISOString(),
    closesAt: closesAt.toISOString(),
    serverNow: createdAt,
    paidAt: null,
    closedAt: null,
    canceledAt: null,
    shippedAt: null,
    completedAt: null,
    shipment: null,
    version: 1,
    balance: EMPTY_BALANCE,
    payments: [],
  };
}

/** Another process placed an order with the same key between our look and our write. */
class KeyTakenMeanwhileError extends Error {
  /** Makes the transaction run again (as a serialization failure does); then the key is found. */
  readonly code = '40001';
}
