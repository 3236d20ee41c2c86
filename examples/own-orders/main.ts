import 'reflect-metadata';
import {
  type ClosesOrders,
  CloseTarget,
  CloseTargetModule,
  CloseTargets,
  ERROR_STATUS,
  LastcallError,
  type OpenOrder,
  type PaidOrder,
  type PaymentProvider,
  type PaymentRef,
  type ProviderAnswer,
  type ProviderNotice,
  type RefundAnswer,
  type TargetPayment,
} from '@lastcall/orders/targets';
import { fromDrizzle, InjectTimeouts, TimeoutModule, Timeouts, type Tx } from '@lastcall/timeout';
import {
  ConflictException,
  Controller,
  Get,
  HttpCode,
  HttpException,
  Inject,
  Module,
  Param,
  Post,
  type RawBodyRequest,
  Req,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { and, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, serial, smallint, text, timestamp } from 'drizzle-orm/pg-core';
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Pool } from 'pg';

/** The statuses as the shop has had them for years. */
const [OPEN, PAID, EXPIRED] = [10, 20, 90];
const PRICE = 500;
const PAY_WITHIN_MS = Number(process.env.PAY_WITHIN_MS ?? 660_000);

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const db = drizzle(pool);
const stock = pgTable('stock', { sku: text('sku').primaryKey(), left: integer('left').notNull() });
const orders = pgTable('orders', {
  id: serial('id').primaryKey(),
  sku: text('sku').notNull(),
  state: smallint('state').notNull(),
});
const payments = pgTable('payments', {
  id: text('id').primaryKey(),
  orderId: integer('order_id').notNull(),
  amount: integer('amount').notNull(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
});

/** The shop's payment provider: here a drawer in this process, elsewhere HTTP calls to somebody. */
class Till implements PaymentProvider {
  readonly name = 'till';
  readonly takesRealMoney = false;
  readonly drawer = new Map<string, { status: string; amount: number; refunded: number }>();
  readonly #secret = randomUUID();

  takes = () => true;
  planPayment = () => ({});
  async createPayment({ paymentId, amount }: PaymentRef) {
    if (!this.drawer.has(paymentId)) {
      this.drawer.set(paymentId, { status: 'open', amount, refunded: 0 });
    }
    return {
      state: 'CREATED' as const,
      providerPaymentId: paymentId,
      checkoutUrl: `/till/${paymentId}`,
    };
  }
  async findPayment({ paymentId, currency }: PaymentRef): Promise<ProviderAnswer> {
    const entry = this.drawer.get(paymentId);
    if (!entry) return { state: 'NOT_FOUND' };
    const money = { amount: entry.amount, currency, paidAt: new Date() };
    if (entry.status === 'paid') return { state: 'PAID', providerPaymentId: paymentId, money };
    const state = entry.status === 'open' ? 'UNPAID' : 'CLOSED_UNPAID';
    return { state, providerPaymentId: paymentId };
  }
  async closePayment(ref: PaymentRef): Promise<ProviderAnswer> {
    const entry = this.drawer.get(ref.paymentId);
    if (entry?.status === 'open') entry.status = 'closed';
    return this.findPayment(ref);
  }
  async refund({
    paymentId,
    amount,
  }: {
    paymentId: string;
    amount: number;
  }): Promise<RefundAnswer> {
    const entry = this.drawer.get(paymentId);
    if (entry) entry.refunded = amount;
    return { state: 'SUCCEEDED', providerRefundId: `back-${paymentId}` };
  }
  findRefund = async (providerRefundId: string): Promise<RefundAnswer> => ({
    ...{ state: 'SUCCEEDED', providerRefundId },
  });
  async *ledger() {
    yield { payments: [], next: null };
  }

  /** The buyer pays, on a page that may have been left open for hours; the till tells the shop. */
  pay(paymentId: string): { body: string; signature: string } {
    const entry = this.drawer.get(paymentId);
    if (!entry || entry.status === 'paid') throw new ConflictException('nothing to pay');
    entry.status = 'paid';
    const body = JSON.stringify({ eventId: randomUUID(), paymentId, amount: entry.amount });
    return { body, signature: this.#sign(body) };
  }
  readWebhook(
    raw: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): ProviderNotice {
    const [given, right] = [String(headers['x-signature'] ?? ''), this.#sign(raw)];
    if (given.length !== right.length || !timingSafeEqual(Buffer.from(given), Buffer.from(right))) {
      throw new LastcallError('bad_signature', 'This does not come from the till');
    }
    const { eventId, paymentId, amount } = JSON.parse(raw.toString('utf8')) as {
      [name: string]: never;
    };
    const money = { amount, currency: 'EUR', paidAt: new Date() };
    return { type: 'payment.succeeded', eventId, paymentId, providerPaymentId: paymentId, money };
  }
  #sign(body: string | Buffer): string {
    return createHmac('sha256', this.#secret).update(body).digest('hex');
  }
}
const till = new Till();

/** How lastcall reads and changes the shop's table: always many orders, in its own transaction. */
@CloseTarget({ kind: 'order-close' })
class ShopOrders implements ClosesOrders {
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

@Controller()
class ShopController {
  constructor(
    @InjectTimeouts() private readonly timeouts: Timeouts,
    @Inject(CloseTargets) private readonly closing: CloseTargets,
  ) {}

  /** Order, stock and deadline commit together. */
  @Post('orders/:sku')
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
        kind: 'order-close',
        subjectId: String(order?.id),
        dueAt: new Date(Date.now() + PAY_WITHIN_MS),
      });
      return order;
    });
  }

  /** The payment is written before the till is called: whatever happens in between, it is asked about. */
  @Post('orders/:id/payments')
  async pay(@Param('id') id: string) {
    const expiresAt = new Date(Date.now() + PAY_WITHIN_MS);
    const payment = { id: randomUUID(), orderId: Number(id), amount: PRICE, expiresAt };
    await db.transaction(async (tx) => {
      const open = and(eq(orders.id, Number(id)), eq(orders.state, OPEN));
      const [order] = await tx.select().from(orders).where(open).for('update');
      const ref = { kind: 'order-close', orderId: id };
      const isLate = !order || (await this.closing.isClosing(fromDrizzle(tx, sql), ref));
      if (isLate) throw new ConflictException('too late');
      await tx.insert(payments).values(payment);
    });
    const { id: paymentId, amount } = payment;
    await till.createPayment({
      paymentId,
      providerPaymentId: null,
      amount,
      currency: 'EUR',
      expiresAt,
    });
    return { paymentId };
  }

  /** What the buyer does at the till, and what the till then tells the shop. */
  @Post('till/:payment')
  async buyerPays(@Param('payment') paymentId: string) {
    const { body, signature } = till.pay(paymentId);
    const headers = { 'x-signature': signature, 'content-type': 'application/json' };
    const answer = await fetch(`${address}/webhooks/till`, { method: 'POST', body, headers });
    return { told: answer.ok };
  }

  @Get('till/:payment')
  look(@Param('payment') paymentId: string) {
    return till.drawer.get(paymentId);
  }

  @Post('webhooks/till')
  @HttpCode(200)
  async hear(@Req() request: RawBodyRequest<IncomingMessage>): Promise<void> {
    const body = request.rawBody ?? Buffer.alloc(0);
    try {
      await this.closing.receive('till', body, request.headers);
    } catch (error) {
      if (!(error instanceof LastcallError)) throw error;
      throw new HttpException(error.message, ERROR_STATUS[error.code]);
    }
  }

  @Get('orders/:id')
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
  imports: [
    TimeoutModule.forRoot({ postgres: { pool } }),
    CloseTargetModule.forRoot({ targets: [ShopOrders], payments: [till] }),
  ],
  controllers: [ShopController],
})
class App {}

let address = '';

async function main(): Promise<void> {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, sku text NOT NULL, state smallint NOT NULL);
    CREATE TABLE IF NOT EXISTS payments (
      id text PRIMARY KEY, order_id int NOT NULL, amount int NOT NULL, expires_at timestamptz NOT NULL);
    CREATE TABLE IF NOT EXISTS stock (sku text PRIMARY KEY, "left" int NOT NULL);
    INSERT INTO stock VALUES ('tea', 3) ON CONFLICT DO NOTHING`);
  const app = await NestFactory.create(App, { rawBody: true });
  app.enableShutdownHooks();
  await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
  address = await app.getUrl();
  console.log(`orders on ${address}`);
}

void main();
