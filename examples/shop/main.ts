import 'reflect-metadata';
import {
  DATABASE,
  hostOptionsAsConfig,
  type HooksOrders,
  type HookTx,
  migrate,
  OrderHook,
  OrdersModule,
  type OrdersHostOptions,
  type OrderTransition,
  ReadOrder,
  seedProducts,
} from '@lastcall/orders';
import { HttpProblemFilter, OrdersHttpModule } from '@lastcall/orders/http';
import {
  type CanActivate,
  ConflictException,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Module,
  Param,
  Post,
  Req,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { IncomingMessage } from 'node:http';
import { Pool } from 'pg';
import { type Notice, Till } from './till';

interface Visit extends IncomingMessage {
  member: string;
}

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
// Else a connection that ends while it is idle, as all do when Postgres restarts, ends the process.
pool.on('error', ({ message }) => console.error(message));
const till = new Till((notice) => void tell(notice));
const options: OrdersHostOptions = {
  postgres: { url: process.env.DATABASE_URL ?? '' },
  payments: [till],
  windows: { pay: process.env.PAY_WITHIN ?? '10m', grace: process.env.GRACE ?? '1m' },
};

/** How this shop knows its members: elsewhere a session in a store. */
class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const visit = context.switchToHttp().getRequest<Visit>();
    const [, member] = /\bsid=(\w+)/.exec(visit.headers.cookie ?? '') ?? [];
    visit.member = member ?? '';
    return member !== undefined;
  }
}

/** Of coupons: held together by those who change orders, and alone by who takes one. */
const COUPONS_LOCK = 4_711;

/** A coupon is taken by one order. It is free again in the transaction that closes that, and used up with its payment. */
@OrderHook()
class Coupons implements HooksOrders {
  async onTransition({ to, orderIds }: OrderTransition, tx: HookTx): Promise<void> {
    // Whoever takes one meanwhile waits for this transaction, and then sees what became of the order.
    await tx.query('SELECT pg_advisory_xact_lock_shared($1)', [COUPONS_LOCK]);
    if (to === 'closed') {
      await tx.query(
        'UPDATE coupons SET order_id = NULL WHERE order_id = ANY ($1) AND NOT is_used',
        [orderIds],
      );
    } else if (to === 'paid') {
      await tx.query('UPDATE coupons SET is_used = true WHERE order_id = ANY ($1)', [orderIds]);
    }
  }
}

@Controller('coupons/:code')
@UseGuards(SessionGuard)
@UseFilters(HttpProblemFilter)
class CouponsController {
  constructor(@Inject(ReadOrder) private readonly orders: ReadOrder) {}

  /**
   * For an open order of one's own: somebody else's is not found. Taken first, and looked at then: an order that
   * closes after the look finds its coupon, and one that had closed before is seen.
   */
  @Post('orders/:order')
  async take(@Param('code') code: string, @Param('order') id: string, @Req() visit: Visit) {
    await this.orders.read(id, visit.member);
    const sql = `
      WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock($3))
      UPDATE coupons SET order_id = $2 FROM alone WHERE code = $1 AND order_id IS NULL RETURNING coupons.*`;
    const { rows } = await pool.query(sql, [code, id, COUPONS_LOCK]);
    if (rows.length === 0) throw new ConflictException('this coupon is taken');
    const { status } = await this.orders.read(id, visit.member);
    if (status === 'pending_payment') return rows[0];
    const back =
      'UPDATE coupons SET order_id = NULL WHERE code = $1 AND order_id = $2 AND NOT is_used';
    await pool.query(back, [code, id]);
    throw new ConflictException(`the order is ${status}`);
  }

  @Get()
  async show(@Param('code') code: string) {
    return (await pool.query('SELECT * FROM coupons WHERE code = $1', [code])).rows[0];
  }
}

/** The page of the provider, where the buyer pays. */
@Controller('till/:payment')
class TillController {
  @Post()
  pay(@Param('payment') id: string) {
    if (!till.pay(id)) throw new ConflictException('there is nothing to pay');
    return { paid: true };
  }
}

@Module({
  imports: [
    OrdersModule.forRootAsync({ useFactory: () => options }),
    OrdersHttpModule.forRoot({
      guard: SessionGuard,
      caller: ({ member }: Visit) => ({ subject: member }),
    }),
  ],
  controllers: [CouponsController, TillController],
  providers: [Coupons],
})
class Shop {}

/** As providers do: again and again, until somebody says 2xx. */
async function tell(notice: Notice): Promise<void> {
  for (let pauseMs = 100; ; pauseMs *= 2) {
    const headers = { ...notice.headers, 'content-type': 'application/json' };
    const sent = { method: 'POST', body: notice.body, headers };
    const answer = await fetch(`${till.address}/v1/webhooks/till`, sent).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
  }
}

async function main(): Promise<void> {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS coupons (code text PRIMARY KEY, order_id uuid, is_used boolean NOT NULL DEFAULT false);
    INSERT INTO coupons VALUES ('TEN'), ('FREE') ON CONFLICT DO NOTHING`);
  await migrate(hostOptionsAsConfig(options));
  const app = await NestFactory.create(Shop, { rawBody: true });
  app.enableShutdownHooks();
  await seedProducts(app.get(DATABASE));
  await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
  till.address = await app.getUrl();
  console.log(`shop on ${till.address}`);
}

void main();
