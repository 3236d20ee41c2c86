import 'reflect-metadata';
import {
  CloseTargetModule,
  CloseTargets,
  ERROR_STATUS,
  LastcallError,
} from '@lastcall/orders/targets';
import { fromDrizzle, InjectTimeouts, TimeoutModule, Timeouts } from '@lastcall/timeout';
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
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { db, OPEN, orders, payments, pool, ShopOrders, stock, TABLES } from './shop-orders';
import { Till } from './till';

const PRICE = 500;
const PAY_WITHIN_MS = Number(process.env.PAY_WITHIN_MS ?? 660_000);

const till = new Till();

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
  await pool.query(TABLES);
  const app = await NestFactory.create(App, { rawBody: true });
  app.enableShutdownHooks();
  await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
  address = await app.getUrl();
  console.log(`orders on ${address}`);
}

void main();
