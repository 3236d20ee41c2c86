import type { By, OrderStatus } from '../order/order.lifecycle';
import type { Queryable } from '../order/order-rows';

export interface OrderEventView {
  /** Increases along an order's history; what `Last-Event-ID` resumes after. */
  readonly id: string;
  readonly orderId: string;
  readonly version: number;
  readonly type: string;
  readonly from: OrderStatus | null;
  readonly to: OrderStatus;
  readonly by: By;
  readonly actor: string | null;
  readonly reason: string | null;
  readonly at: string;
}

/** The history of an order, oldest first. */
export async function readHistory(
  sql: Queryable,
  orderIds: readonly string[],
): Promise<OrderEventView[]> {
  const rows = await sql.rows<OrderEventView & { at: Date | string }>(
    `SELECT id, order_id AS "orderId", version, type, from_status AS "from", to_status AS "to",
            by, actor, reason, at
       FROM order_events WHERE order_id = ANY ($1::uuid[]) ORDER BY order_id, version`,
    [orderIds],
  );
  return rows.map((row) => ({ ...row, at: new Date(row.at).toISOString() }));
}
