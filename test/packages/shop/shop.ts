// A small shop of somebody else, on whatever Nest, adapter and kind of module: npm run test:packages.
import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import {
  DATABASE,
  loadConfigWithoutAuth,
  migrate,
  OrdersModule,
  PlaceOrder,
  ReadOrder,
  seedProducts,
} from '@lastcall/orders';
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
import { Body, Controller, Get, Inject, Module, Param, Post } from '@nestjs/common';
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
  constructor(
    @InjectTimeouts() private readonly timeouts: Timeouts,
    @Inject(PlaceOrder) private readonly place: PlaceOrder,
    @Inject(ReadOrder) private readonly read: ReadOrder,
  ) {}

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

  @Post('orders')
  async order(@Body() { sku }: { sku: string }): Promise<object> {
    const items = [{ sku, quantity: 1 }];
    return (await this.place.place({ customerId: 'ann', idempotencyKey: 'first', items })).order;
  }

  @Get('orders/:id')
  orderOf(@Param('id') id: string): Promise<object> {
    return this.read.read(id, 'ann') as Promise<object>;
  }
}

const config = loadConfigWithoutAuth({
  DATABASE_URL: env.DATABASE_URL,
  REDIS_URL: env.REDIS_URL,
  SANDBOX_WEBHOOK_SECRET: 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
  LASTCALL_HOME: '/nowhere',
  PAYMENT_WINDOW: '400ms',
  PAYMENT_GRACE: '100ms',
});
const ignore = (): void => undefined;
const telemetry = new Proxy({} as Parameters<typeof OrdersModule.forRoot>[1], {
  get: (_, name) => (name === 'then' ? undefined : ignore),
});

@Module({
  imports: [
    TimeoutModule.forRoot({ postgres: { pool } }),
    TimeoutModule.forFeature([EndTrials]),
    OrdersModule.forRoot(config, telemetry, { ring: true }),
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
  const app = await NestFactory.create(Shop, adapter as ExpressAdapter, { logger: ['error'] });
  await seedProducts(app.get(DATABASE));
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const call = async (method: string, path: string, body?: object): Promise<any> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      ...(body
        ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
        : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const begun = await call('POST', '/trials/anns-trial');
  const placed = await call('POST', '/orders', { sku: 'TEA-SENCHA' });
  await until('the trial has ended', async () => (await call('GET', '/trials/anns-trial')).ended);
  const lateMs = Date.now() - new Date(begun.dueAt).getTime();
  await until('the order was closed by its timer', async () => {
    const sql = `SELECT by FROM lastcall.order_events WHERE order_id = $1 AND to_status = 'closed'`;
    return (await pool.query(sql, [placed.id])).rows.length > 0;
  });
  const { status, closeReason } = await call('GET', `/orders/${placed.id}`);
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

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 15_000; !(await holds()); await pause(50)) {
    if (Date.now() > endMs) throw new Error(`not within 15 s: ${what}`);
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
