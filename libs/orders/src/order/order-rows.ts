import { queryRows, type Transaction } from '@app/timeout';
import type { DataSource } from 'typeorm';
import {
  EMPTY_BALANCE,
  type OrderBalance,
  type OrderItem,
  type OrderView,
  type PaymentView,
  type Shipment,
} from './order';
import { orderNotFound } from './errors';
import type { CloseReason, OrderStatus } from './order.lifecycle';

/** Whatever can run a statement: a transaction, or {@link onDataSource}. */
export type Queryable = Pick<Transaction, 'rows'>;

/** Statements outside a transaction. */
export function onDataSource(dataSource: DataSource): Queryable {
  return { rows: (sql, params) => queryRows(dataSource, sql, params) };
}

interface OrderRow {
  id: string;
  customer_id: string;
  status: OrderStatus;
  close_reason: CloseReason | null;
  amount: string;
  currency: string;
  version: number;
  created_at: Date;
  pay_by: Date | null;
  closes_at: Date | null;
  server_now: Date;
  paid_at: Date | null;
  closed_at: Date | null;
  canceled_at: Date | null;
  shipped_at: Date | null;
  completed_at: Date | null;
  carrier: string | null;
  tracking_number: string | null;
  items: OrderItem[];
  balance: OrderBalance | null;
  payments: PaymentView[] | null;
}

/** Milliseconds and Z, as Date.toISOString writes it, for instants inside JSON. */
export const ISO = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const COLUMNS = `o.id, o.customer_id, o.status, o.close_reason, o.amount, o.currency, o.version,
  o.created_at, o.pay_by, o.closes_at, now()::timestamptz(3) AS server_now, o.paid_at, o.closed_at,
  o.canceled_at, o.shipped_at, o.completed_at, o.carrier, o.tracking_number,
  (SELECT json_agg(json_strip_nulls(json_build_object(
            'sku', i.sku, 'quantity', i.quantity, 'unitPrice', i.unit_price,
            'returned', (SELECT sum(r.quantity) FROM order_returns r
                          WHERE r.order_id = o.id AND r.sku = i.sku))) ORDER BY i.sku)
     FROM order_items i WHERE i.order_id = o.id) AS items,
  (SELECT json_build_object('captured', sum(b.captured), 'refunded', sum(b.refunded),
                            'disputed', sum(b.disputed), 'held', sum(b.held))
     FROM payment_balances b WHERE b.order_id = o.id AND b.currency = o.currency
   HAVING count(*) > 0) AS balance,
  (SELECT json_agg(json_build_object(
            'id', p.id, 'provider', p.provider, 'providerPaymentId', p.provider_payment_id,
            'status', p.status, 'amount', p.amount, 'currency', p.currency,
            'checkoutUrl', p.checkout_url, 'paidAt', ${ISO('p.paid_at')},
            'holdReason', p.hold_reason,
            'refund', (SELECT json_build_object('id', r.id, 'status', r.status,
                                                'amount', r.amount, 'reason', r.reason)
                         FROM refunds r WHERE r.payment_id = p.id
                        ORDER BY r.created_at DESC, r.id DESC LIMIT 1)) ORDER BY p.id)
     FROM payments p WHERE p.order_id = o.id) AS payments`;

/** Reads orders by id; ids that do not exist are not in the answer. */
export async function readOrders(
  sql: Queryable,
  ids: readonly string[],
): Promise<Map<string, OrderView>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.rows<OrderRow>(
    `SELECT ${COLUMNS} FROM orders o WHERE o.id = ANY ($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, toView(row)]));
}

/** Reads one that is there. */
export async function readOrder(sql: Queryable, id: string): Promise<OrderView> {
  const order = (await readOrders(sql, [id])).get(id);
  if (!order) throw orderNotFound();
  return order;
}

const HAS_DEADLINE: ReadonlySet<OrderStatus> = new Set(['pending_payment', 'closing', 'closed']);

function toView(row: OrderRow): OrderView {
  return {
    id: row.id,
    customerId: row.customer_id,
    status: row.status,
    closeReason: row.close_reason,
    items: row.items ?? [],
    amount: Number(row.amount),
    currency: row.currency,
    createdAt: row.created_at.toISOString(),
    payBy: iso(row.pay_by),
    // What is paid or canceled closes no more; of a closed order it is where its lag counts from.
    closesAt: HAS_DEADLINE.has(row.status) ? iso(row.closes_at) : null,
    serverNow: row.server_now.toISOString(),
    paidAt: iso(row.paid_at),
    closedAt: iso(row.closed_at),
    canceledAt: iso(row.canceled_at),
    shippedAt: iso(row.shipped_at),
    completedAt: iso(row.completed_at),
    shipment: shipmentOf(row),
    version: row.version,
    balance: row.balance ?? EMPTY_BALANCE,
    payments: row.payments ?? [],
  };
}

function shipmentOf({ carrier, tracking_number: trackingNumber }: OrderRow): Shipment | null {
  return carrier === null && trackingNumber === null ? null : { carrier, trackingNumber };
}

function iso(instant: Date | null): string | null {
  return instant ? instant.toISOString() : null;
}
