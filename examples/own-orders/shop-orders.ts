import {
  type ClosesOrders,
  CloseTarget,
  type OpenOrder,
  type PaidOrder,
  type TargetPayment,
} from '@lastcall/orders/targets';
import type { Tx } from '@lastcall/timeout';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, serial, smallint, text, timestamp } from 'drizzle-orm/pg-core';
import { Pool } from 'pg';

/** The statuses as the shop has had them for years. */
export const [OPEN, PAID, EXPIRED] = [10, 20, 90];

export const pool = new Pool({ connectionString: process.env.DATABASE_URL });
// Else a connection that ends while it is idle, as all do when Postgres restarts, ends the process.
pool.on('error', ({ message }) => console.error(message));
export const db = drizzle(pool);
export const stock = pgTable('stock', {
  sku: text('sku').primaryKey(),
  left: integer('left').notNull(),
});
export const orders = pgTable('orders', {
  id: serial('id').primaryKey(),
  sku: text('sku').notNull(),
  state: smallint('state').notNull(),
});
export const payments = pgTable('payments', {
  id: text('id').primaryKey(),
  orderId: integer('order_id').notNull(),
  amount: integer('amount').notNull(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
});

/** As they were before lastcall came. */
export const TABLES = `
  CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, sku text NOT NULL, state smallint NOT NULL);
  CREATE TABLE IF NOT EXISTS payments (
    id text PRIMARY KEY, order_id int NOT NULL, amount int NOT NULL, expires_at timestamptz NOT NULL);
  CREATE TABLE IF NOT EXISTS stock (sku text PRIMARY KEY, "left" int NOT NULL);
  INSERT INTO stock VALUES ('tea', 3) ON CONFLICT DO NOTHING`;

/** How lastcall reads and changes the shop's table: always many orders, in its own transaction. */
@CloseTarget({ kind: 'order-close' })
export class ShopOrders implements ClosesOrders {
  lockOpen(ids: readonly string[], tx: Tx): Promise<OpenOrder[]> {
    return tx.query(
      `WITH free AS (SELECT id FROM orders WHERE id = ANY ($1::int[]) AND state = $2 FOR UPDATE SKIP LOCKED)
       SELECT id, id IN (SELECT id FROM free) AS locked FROM orders WHERE id = ANY ($1::int[]) AND state = $2`,
      [ids, OPEN],
    );
  }

  openPayments(ids: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    return tx.query(`${PAYMENTS} WHERE order_id = ANY ($1::int[])`, [ids]);
  }

  findPayments(paymentIds: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    return tx.query(`${PAYMENTS} WHERE id = ANY ($1)`, [paymentIds]);
  }

  /** Whole batches in two statements; the stock goes back with the status. */
  async close(ids: readonly string[], _reason: string, tx: Tx): Promise<string[]> {
    const closed = await tx.query<{ id: string; sku: string }>(
      `UPDATE orders SET state = $1 WHERE id = ANY ($2::int[]) AND state = $3 RETURNING id, sku`,
      [EXPIRED, ids, OPEN],
    );
    await tx.query(
      `UPDATE stock SET "left" = "left" + back.n
         FROM (SELECT sku, count(*)::int AS n FROM unnest($1::text[]) AS s (sku) GROUP BY sku) AS back
        WHERE stock.sku = back.sku`,
      [closed.map(({ sku }) => sku)],
    );
    return closed.map(({ id }) => id);
  }

  async markPaid(paid: readonly PaidOrder[], tx: Tx): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `UPDATE orders SET state = $1 WHERE id = ANY ($2::int[]) AND state = $3 RETURNING id`,
      [PAID, paid.map(({ id }) => id), OPEN],
    );
    return rows.map(({ id }) => id);
  }
}

const PAYMENTS = `SELECT id AS "paymentId", id AS "providerPaymentId", order_id AS "orderId", amount,
  'EUR' AS currency, expires_at AS "expiresAt", 'till' AS provider FROM payments`;
