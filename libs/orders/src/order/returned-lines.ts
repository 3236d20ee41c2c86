import type { Transaction } from '@app/timeout';
import type { StockLine } from './stock-port';

/** What came back of these orders so far, a line for each order and SKU. */
export function readReturned(tx: Transaction, orderIds: readonly string[]): Promise<StockLine[]> {
  return tx.rows<StockLine>(
    `SELECT order_id AS "orderId", sku, sum(quantity)::int AS quantity FROM order_returns
      WHERE order_id = ANY ($1::uuid[]) GROUP BY order_id, sku`,
    [orderIds],
  );
}
