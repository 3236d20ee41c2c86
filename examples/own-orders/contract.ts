import 'reflect-metadata';
import { describeCloseTarget } from '@lastcall/orders/testing';
import { eq } from 'drizzle-orm';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { db, OPEN, orders, PAID, payments, pool, ShopOrders, TABLES } from './shop-orders';

/** What lastcall relies on of the shop's table. Run it by node:test, Jest or Vitest, against a Postgres of tests. */
describeCloseTarget(
  'the orders of this shop',
  async () => {
    await pool.query(TABLES);
    return {
      target: new ShopOrders(),
      postgres: { pool },
      placeOrder: async () => {
        const [order] = await db.insert(orders).values({ sku: 'tea', state: OPEN }).returning();
        return String(order?.id);
      },
      openPayment: async (orderId) => {
        const [id, expiresAt] = [randomUUID(), new Date(Date.now() + 3_600_000)];
        await db.insert(payments).values({ id, orderId: Number(orderId), amount: 500, expiresAt });
        return id;
      },
      statusOf: async (orderId) => {
        const isThis = eq(orders.id, Number(orderId));
        const [order] = await db.select().from(orders).where(isThis);
        return order?.state === OPEN ? 'open' : order?.state === PAID ? 'paid' : 'closed';
      },
      close: () => pool.end(),
    };
  },
  { describe, it, beforeAll: before, afterAll: after },
);
