// A small shop of somebody else, on whatever Nest, adapter and kind of module: npm run test:packages.
import 'reflect-metadata';
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  DATABASE,
  loadConfigWithoutAuth,
  migrate,
  OrdersModule,
  seedProducts,
} from '@lastcall/orders';
import { OrdersHttpModule } from '@lastcall/orders/http';
import {
  DeadlineHandler,
  type Due,
  fromKnex,
  fromPg,
  getTimeoutsToken,
  InjectTimeouts,
  TimeoutModule,
  Timeouts,
  type Tx,
} from '@lastcall/timeout';
import { TimeoutTesting } from '@lastcall/timeout/testing';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  Param,
  Post,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import knex from 'knex';
import { Pool } from 'pg';

const env = process.env as Record<'DATABASE_URL' | 'REDIS_URL' | 'ADAPTER', string>;
const pool = new Pool({ connectionString: env.DATABASE_URL, options: '-c search_path=public' });

@DeadlineHandler('trial-end')
class EndTrials {
  async handle(due: readonly Due[], tx: Tx): Promise<{ changed: number }> {
    const ended = await tx.query(
      `UPDATE trials SET ended = true WHERE id = ANY ($1) AND NOT ended RETURNING 1`,
      [due.map(({ subjectId }) => subjectId)],
    );
    return { changed: ended.length };
  }
}

@Controller()
class ShopController {
  constructor(@InjectTimeouts() private readonly timeouts: Timeouts) {}

  @Post('trials/:id')
  async begin(@Param('id') id: string): Promise<object> {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('INSERT INTO trials (id) VALUES ($1)', [id]);
      const dueAt = new Date(Date.now() + 300);
      await this.timeouts.arm(fromPg(client), { kind: 'trial-end', subjectId: id, dueAt });
      await client.query('COMMIT');
      return { id, dueAt };
    } finally {
      client.release();
    }
  }

  @Get('trials/:id')
  async trial(@Param('id') id: string): Promise<object> {
    return (await pool.query<{ ended: boolean }>('SELECT ended FROM trials WHERE id = $1', [id]))
      .rows[0] as object;
  }
}

/** The shop's own way to know its members. */
@Injectable()
class MemberGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest();
    request.member = /^sid=(\w+)$/.exec(request.headers.cookie ?? '')?.[1];
    return request.member !== undefined;
  }
}

const secret = 'YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=';
const config = loadConfigWithoutAuth({
  DATABASE_URL: env.DATABASE_URL,
  REDIS_URL: env.REDIS_URL,
  SANDBOX_WEBHOOK_SECRET: `whsec_${secret}`,
  LASTCALL_HOME: '/nowhere',
  // Time enough to cancel an order, for a process that has just started on a busy machine.
  PAYMENT_WINDOW: '6s',
  PAYMENT_GRACE: '100ms',
});
/** Of a machine that others use as well. */
const LIMIT_MS = 60_000;
const ignore = (): void => undefined;
const telemetry = new Proxy({} as Parameters<typeof OrdersModule.forRoot>[1], {
  get: (_, name) => (name === 'then' ? undefined : ignore),
});

@Module({
  imports: [
    TimeoutModule.forRoot({ postgres: { pool } }),
    TimeoutModule.forFeature([EndTrials]),
    OrdersModule.forRoot(config, telemetry, { ring: true }),
    OrdersHttpModule.forRoot({
      guard: MemberGuard,
      caller: ({ member }: { member: string }) => ({ subject: member }),
    }),
  ],
  controllers: [ShopController],
})
class Shop {}

async function main(): Promise<void> {
  await pool.query('CREATE TABLE trials (id text PRIMARY KEY, ended boolean DEFAULT false)');
  await pool.query(
    'CREATE TABLE orders (id int PRIMARY KEY, state int); INSERT INTO orders VALUES (1, 7)',
  );
  await migrate(config);
  const adapter = env.ADAPTER === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const options = { logger: ['error' as const], rawBody: true };
  const app = await NestFactory.create(Shop, adapter as ExpressAdapter, options);
  await seedProducts(app.get(DATABASE));
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const send = (method: string, path: string, body?: string, headers: object = {}) =>
    fetch(`${url}${path}`, {
      ...{ method, body: body ?? null },
      headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
    });
  const call = async (method: string, path: string, body?: object): Promise<any> => {
    const headers = { cookie: 'sid=ann', 'idempotency-key': `of-${JSON.stringify(body)}` };
    const answer = await send(method, path, body && JSON.stringify(body), headers);
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const begun = await call('POST', '/trials/anns-trial');
  const lines = (quantity: number) => ({ items: [{ sku: 'TEA-SENCHA', quantity }] });
  // Its time passes while all that follows is tried.
  const placed = await call('POST', '/v1/orders', lines(1));
  const canceled = await call('POST', '/v1/orders', lines(2));
  const { closeReason: why } = await call('POST', `/v1/orders/${canceled.id}/cancel`);
  if (why !== 'customer_canceled') throw new Error(`canceled because of ${why}`);
  await refuses(send);
  await until('the trial has ended', async () => (await call('GET', '/trials/anns-trial')).ended);
  const lateMs = Date.now() - new Date(begun.dueAt).getTime();
  await until('the order was closed by its timer', async () => {
    const sql = `SELECT by FROM lastcall.order_events WHERE order_id = $1 AND to_status = 'closed'`;
    return (await pool.query(sql, [placed.id])).rows.length > 0;
  });
  const { status, closeReason } = await call('GET', `/v1/orders/${placed.id}`);
  if (status !== 'closed' || closeReason !== 'payment_timeout') throw new Error(`it is ${status}`);
  const [own] = (await pool.query('SELECT state FROM orders')).rows;
  if (own.state !== 7) throw new Error("the shop's own orders have changed");
  const builder = knex({ client: 'pg', connection: env.DATABASE_URL });
  const timeouts = app.get<Timeouts>(getTimeoutsToken());
  const trial = { kind: 'trial-end', subjectId: "bob's" };
  await builder.transaction((trx) =>
    timeouts.arm(fromKnex(trx), { ...trial, dueAt: new Date(Date.now() + 60_000) }),
  );
  if ((await timeouts.get(trial))?.version !== 1) throw new Error('Knex armed nothing');
  if ((await builder.transaction((trx) => timeouts.cancel(fromKnex(trx), trial))) !== 1) {
    throw new Error('Knex took nothing back');
  }
  await builder.destroy();
  await app.close();
  const t = await TimeoutTesting.create({
    postgres: { url: env.DATABASE_URL },
    handlers: [Passed],
  });
  await t.arm({ kind: 'passed', subjectId: '1', dueAt: new Date(Date.now() + 14 * 86_400_000) });
  await t.advance('14d');
  if (t.get(Passed).passed !== 1) throw new Error('14 days did not pass');
  await t.close();
  await pool.end();
  console.log(
    `held: trial ended ${lateMs} ms after its time at most, order closed, own orders whole`,
  );
}

@DeadlineHandler('passed')
class Passed {
  passed = 0;
  handle(due: readonly Due[]): Promise<{ changed: number }> {
    this.passed += due.length;
    return Promise.resolve({ changed: due.length });
  }
}

/** Strangers, other members, and webhooks that nobody has signed; what is signed is stored. */
async function refuses(
  send: (method: string, path: string, body?: string, headers?: object) => Promise<Response>,
): Promise<void> {
  const expected = async (answer: Response, status: number, code?: string): Promise<void> => {
    const told: any = await answer.json();
    if (answer.status === status && told.code === code) return;
    throw new Error(`${status} ${code} expected: ${answer.status} ${JSON.stringify(told)}`);
  };
  await expected(await send('GET', '/v1/orders'), 403, 'forbidden');
  const nobodys = '/v1/orders/0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e';
  await expected(
    await send('GET', nobodys, undefined, { cookie: 'sid=bob' }),
    404,
    'order_not_found',
  );
  const data = { providerPaymentId: 'p', reference: 'r', amount: 1, currency: 'EUR' };
  const body = `${JSON.stringify({ type: 'payment.closed', data })} `;
  const hook = '/v1/webhooks/sandbox';
  await expected(await send('POST', hook, body), 400, 'bad_signature');
  const timestamp = String(Math.round(Date.now() / 1_000));
  const mac = createHmac('sha256', Buffer.from(secret, 'base64')).update(`1.${timestamp}.${body}`);
  const signed = {
    ...{ 'webhook-id': '1', 'webhook-timestamp': timestamp },
    'webhook-signature': `v1,${mac.digest('base64')}`,
  };
  await expected(await send('POST', hook, body, signed), 200);
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + LIMIT_MS; !(await holds()); await pause(50)) {
    if (Date.now() > endMs) throw new Error(`not within ${LIMIT_MS} ms: ${what}`);
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
