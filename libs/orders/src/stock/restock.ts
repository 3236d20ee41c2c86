import type { Transaction } from '@app/timeout';
import { LastcallError } from '../order/errors';
import { NEW_EVENT_TX } from '../order/event-tx';
import type { OrderStatus } from '../order/order.lifecycle';
import type { StockLine } from '../order/stock-port';
import { sumBySku } from './products';

export interface ReturnedLine {
  readonly sku: string;
  readonly quantity: number;
}

/** The statuses in which the customer has what was bought, or is about to. */
const SOLD: readonly OrderStatus[] = ['paid', 'shipped', 'completed'];

/**
 * Puts what came back of an order into stock again, never more than was bought of a line. The caller
 * has locked the order's row, so those who ask at the same time see what the others have put back.
 * @returns what came back, a line for each SKU
 * @throws {LastcallError} restock_exceeds_order
 */
export async function restock(
  tx: Transaction,
  order: { readonly id: string; readonly status: OrderStatus },
  lines: readonly ReturnedLine[],
): Promise<StockLine[]> {
  if (lines.length === 0) return [];
  const wanted = sumBySku(lines);
  const left = SOLD.includes(order.status)
    ? await readLeft(tx, order.id)
    : new Map<string, number>();
  for (const [sku, quantity] of wanted) {
    const most = left.get(sku) ?? 0;
    if (quantity > most) throw exceeds(sku, quantity, most);
  }
  await tx.rows(
    `WITH moved AS (
       INSERT INTO unfolded_stock_movements (tx, sku, effect, quantity)
       SELECT ${NEW_EVENT_TX}, sku, 'restock', quantity
         FROM unnest($2::text[], $3::int[]) AS r (sku, quantity)
       RETURNING id, sku, quantity
     )
     INSERT INTO order_returns (movement_id, order_id, sku, quantity)
     SELECT id, $1, sku, quantity FROM moved`,
    [order.id, [...wanted.keys()], [...wanted.values()]],
  );
  return [...wanted].map(([sku, quantity]) => ({ orderId: order.id, sku, quantity }));
}

async function readLeft(tx: Transaction, orderId: string): Promise<Map<string, number>> {
  const rows = await tx.rows<{ sku: string; rest: number }>(
    `SELECT i.sku, (i.quantity - coalesce((SELECT sum(r.quantity) FROM order_returns r
                     WHERE r.order_id = i.order_id AND r.sku = i.sku), 0))::int AS rest
       FROM order_items i WHERE i.order_id = $1`,
    [orderId],
  );
  return new Map(rows.map(({ sku, rest }) => [sku, rest]));
}

function exceeds(sku: string, quantity: number, most: number): LastcallError {
  return new LastcallError(
    'restock_exceeds_order',
    `${quantity} of "${sku}" is more than can come back of this order: at most ${most}`,
    { sku, most },
  );
}
