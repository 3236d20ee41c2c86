import 'reflect-metadata';
import { DeadlineHandler, type Due, fromDrizzle, InjectTimeouts } from '@lastcall/timeout';
import { TimeoutModule, Timeouts, type Tx } from '@lastcall/timeout';
import { ConflictException, Controller, Get, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { and, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, serial, smallint, text } from 'drizzle-orm/pg-core';
import { Pool } from 'pg';

/** The statuses as the shop has had them for years. */
const [OPEN, PAID, EXPIRED] = [10, 20, 90];
const PAY_WITHIN_MS = Number(process.env.PAY_WITHIN_MS ?? 660_000);

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const db = drizzle(pool);
const stock = pgTable('stock', { sku: text('sku').primaryKey(), left: integer('left').notNull() });
const orders = pgTable('orders', {
  id: serial('id').primaryKey(),
  sku: text('sku').notNull(),
  state: smallint('state').notNull(),
});

/** Closes what nobody has paid for, and gives its stock back: a whole batch in two statements. */
@DeadlineHandler('order-expiry', { maxBatch: 1_000 })
class ExpireOrders {
  async handle(due: readonly Due[], tx: Tx) {
    // The condition decides: an order that was paid meanwhile keeps its state.
    const expired = await tx.query<{ sku: string }>(
      `UPDATE orders SET state = $1 WHERE id = ANY ($2::int[]) AND state = $3 RETURNING sku`,
      [EXPIRED, due.map(({ subjectId }) => Number(subjectId)), OPEN],
    );
    await tx.query(
      `UPDATE stock SET "left" = "left" + back.n
         FROM (SELECT sku, count(*)::int AS n FROM unnest($1::text[]) AS s (sku) GROUP BY sku) AS back
        WHERE stock.sku = back.sku`,
      [expired.map(({ sku }) => sku)],
    );
    return { changed: expired.length };
  }
}

@Controller('orders')
class OrdersController {
  constructor(@InjectTimeouts() private readonly timeouts: Timeouts) {}

  /** Order, stock and deadline commit together. */
  @Post(':sku')
  place(@Param('sku') sku: string) {
    return db.transaction(async (tx) => {
      const taken = await tx
        .update(stock)
        .set({ left: sql`${stock.left} - 1` })
        .where(and(eq(stock.sku, sku), sql`${stock.left} > 0`))
        .returning();
      if (taken.length === 0) throw new ConflictException('sold out');
      const [order] = await tx.insert(orders).values({ sku, state: OPEN }).returning();
      await this.timeouts.arm(fromDrizzle(tx, sql), {
        kind: 'order-expiry',
        subjectId: String(order?.id),
        dueAt: new Date(Date.now() + PAY_WITHIN_MS),
      });
      return order;
    });
  }

  @Post(':id/payment')
  async pay(@Param('id') id: string) {
    const open = and(eq(orders.id, Number(id)), eq(orders.state, OPEN));
    const [paid] = await db.update(orders).set({ state: PAID }).where(open).returning();
    // Its deadline may stay: it comes once, and finds nothing to do.
    if (!paid) throw new ConflictException('too late');
    return paid;
  }

  @Get(':id')
  async show(@Param('id') id: string) {
    const [order] = await db
      .select()
      .from(orders)
      .where(eq(orders.id, Number(id)));
    const [left] = await db.select().from(stock);
    return { ...order, left: left?.left };
  }
}

@Module({
  imports: [TimeoutModule.forRoot({ postgres: { pool } })],
  providers: [ExpireOrders],
  controllers: [OrdersController],
})
class App {}

async function main(): Promise<void> {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, sku text NOT NULL, state smallint NOT NULL);
    CREATE TABLE IF NOT EXISTS stock (sku text PRIMARY KEY, "left" int NOT NULL);
    INSERT INTO stock VALUES ('tea', 2) ON CONFLICT DO NOTHING`);
  const app = await NestFactory.create(App);
  app.enableShutdownHooks();
  await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
  console.log(`orders on ${await app.getUrl()}`);
}

void main();
