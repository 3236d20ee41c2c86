import { randomUUID } from 'node:crypto';
import { EraseCustomer } from '../../libs/orders/src/ops/erase-customer';
import { PlaceOrder } from '../../libs/orders/src/placing/place-order';
import { insertOrders, TEST_SKU } from './insert-orders';
import type { World } from './world';

export const WHY = { actor: 'olivia', reason: 'request 2026-17' };
/** What limits remember is looked at, and tidied, by whoever places the customer's next order. */
export const LIMITED = { MAX_OPEN_ORDERS: '20', MAX_UNPAID_IN_A_ROW: '10' };

/** Customers of a world, and what is left of them. */
export function erasingOf(world: () => World) {
  const erase = (customer: string) =>
    new EraseCustomer(world().dataSource, world().stream).erase(customer, WHY);
  const place = (customerId: string) =>
    world()
      .get(PlaceOrder)
      .place({
        customerId,
        idempotencyKey: randomUUID(),
        items: [{ sku: TEST_SKU, quantity: 1 }],
      });

  /** A customer with orders that nobody paid, all of them over, and all that limits remember of that. */
  async function past(customerId: string): Promise<void> {
    await insertOrders(world(), { count: 3, closesInMs: 60_000, customerId });
    await world().rows(
      `UPDATE orders SET status = 'closed', close_reason = 'payment_timeout', closed_at = now()
        WHERE customer_id = $1`,
      [customerId],
    );
    await world().rows(
      `INSERT INTO unpaid_orders (customer_id, order_id)
       SELECT customer_id, id FROM orders WHERE customer_id = $1 ON CONFLICT DO NOTHING`,
      [customerId],
    );
    await world().rows(`INSERT INTO unpaid_streaks VALUES ($1, 2, now())`, [customerId]);
  }

  const leftOf = async (customer: string) => {
    const tables = ['orders', 'unpaid_orders', 'unpaid_streaks', 'idempotency_keys'];
    const counts = tables.map(async (table) => {
      const sql = `SELECT FROM ${table} WHERE customer_id = $1`;
      return [table, (await world().rows(sql, [customer])).length];
    });
    return Object.fromEntries(await Promise.all(counts)) as Record<string, number>;
  };

  return { erase, place, past, leftOf };
}
