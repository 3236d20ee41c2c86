import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Pool, type PoolClient } from 'pg';
import { migrateCloseTargets } from '../../libs/orders/src/targets';
import { fromPg, getTimeoutsToken, TimeoutModule, Timeouts } from '../../libs/timeout/src/public';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { type LedgerEntry, LedgerProvider, type Posted } from '../support/ledger-provider';
import {
  EXPIRED,
  NUMBERED_TABLES,
  type NumberedOrder,
  OPEN,
  PAID,
  placeNumbered,
} from '../support/numbered-shop';
import { until } from '../support/until';

/** Processes are started, on a machine that may be busy. About a minute in all on a quiet one. */
jest.setTimeout(120_000);
const LIMIT_MS = 60_000;
const AMOUNT = { amount: 1_999, currency: 'EUR' };
const STEPS = [
  'target.closed',
  'closing.asked',
  'closing.closed_at_provider',
  'target.answered',
  'target.recorded',
  'target.applied',
  'target.settled',
  'target.webhooks_stored',
  'target.webhooks_applied',
  'target.refund_claimed',
  'target.refund_answered',
];
const RACES = 150;
const SPAN_MS = 1_500;

interface ShopProcess {
  readonly url: string;
  readonly process: ChildProcess;
}

describe('a shop with its own orders table', () => {
  const acme = new LedgerProvider('acme');
  let database: TestDatabase;
  let ledger: Server;
  let pool: Pool;
  let client: PoolClient;
  let arming: TestingModule;
  let timeouts: Timeouts;
  let references = 0;
  const running = new Set<ChildProcess>();

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new Pool({ connectionString: database.url, options: '-c search_path=public' });
    client = await pool.connect();
    await client.query(NUMBERED_TABLES);
    await migrateCloseTargets({ postgres: { pool } });
    const timeoutModule = TimeoutModule.forRoot({
      postgres: { pool },
      role: 'arm',
      migrate: false,
    });
    arming = await Test.createTestingModule({ imports: [timeoutModule] }).compile();
    await arming.init();
    timeouts = arming.get<Timeouts>(getTimeoutsToken());
    ledger = createServer((request, response) => {
      void text(request).then(async (body) => {
        const { call, args } = JSON.parse(body) as { call: 'findPayment'; args: [never] };
        response.end(JSON.stringify(await acme[call](...args)));
      });
    });
    await once(ledger.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL');
    ledger?.close();
    client?.release();
    await arming?.close();
    await pool?.end();
    await database?.drop();
  });

  const start = async (): Promise<ShopProcess> => {
    const { port } = ledger.address() as AddressInfo;
    const child = fork(join(__dirname, '..', 'support', 'numbered-shop-main.ts'), {
      execArgv: ['-r', join(__dirname, '..', 'support', 'swc-register.cjs'), '--no-warnings'],
      env: {
        ...process.env,
        DATABASE_URL: database.url,
        LEDGER_URL: `http://127.0.0.1:${port}/`,
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    const [url] = (await once(child, 'message')) as [string];
    return { url, process: child };
  };
  /** As a provider does: again, until it is answered with 2xx. */
  const deliver = (shop: () => ShopProcess, { body, headers }: Posted): Promise<true> =>
    until(
      'the webhook is taken',
      async () => {
        const sent = fetch(shop().url, { method: 'POST', body: new Uint8Array(body), headers });
        return sent.then(
          ({ ok }) => ok,
          () => false,
        );
      },
      LIMIT_MS,
    ) as Promise<true>;
  const place = async (
    closesInMs: number,
    payments: number,
  ): Promise<{ id: string; references: string[] }> => {
    const own = Array.from({ length: payments }, () => `pay-of-shop-${++references}`);
    for (const paymentId of own) acme.open({ paymentId, ...AMOUNT });
    return {
      id: await placeNumbered(client, timeouts, { closesInMs, references: own }),
      references: own,
    };
  };
  /** By one statement after the other, as a connection takes them. */
  const read = async (orders: readonly { readonly id: string }[]): Promise<NumberedOrder[]> => {
    const all: NumberedOrder[] = [];
    for (const { id } of orders) {
      const sql = 'SELECT * FROM orders WHERE id = $1';
      all.push(...(await client.query<NumberedOrder>(sql, [id])).rows);
    }
    return all;
  };
  const untilState = (id: string, state: number) =>
    until(
      `order ${id} is ${state}`,
      async () => (await read([{ id }]))[0]?.state === state,
      LIMIT_MS,
    );
  const entry = (reference: string | undefined): LedgerEntry =>
    acme.entries.get(`pay-${reference}`) as LedgerEntry;
  const untilRefundsAreOver = () =>
    until(
      'no refund is under way',
      async () => {
        const left = `SELECT 1 FROM lastcall.target_refunds WHERE status <> 'succeeded'`;
        return (await client.query(left)).rowCount === 0;
      },
      LIMIT_MS,
    );

  describe('and kill -9 at every step', () => {
    let shop: ShopProcess;
    beforeAll(async () => {
      shop = await start();
    });
    afterAll(() => shop?.process.kill('SIGKILL'));

    it.each(STEPS)('%s: closes, pays and refunds once', async (step) => {
      const late = await place(0, 1);
      await untilState(late.id, EXPIRED);
      const gone = once(shop.process, 'exit');
      const armed = once(shop.process, 'message');
      shop.process.send(step);
      await armed;
      const [unpaid, open, paid] = [
        await place(0, 0),
        await place(300, 1),
        await place(LIMIT_MS, 1),
      ];
      const [lateMoney, money] = [entry(late.references[0]), entry(paid.references[0])];
      const notices = [
        acme.pay(lateMoney.reference, new Date(), { late: true }),
        acme.pay(money.reference, new Date()),
      ] as Posted[];
      const delivered = Promise.all(notices.map((one) => deliver(() => shop, one)));
      expect((await gone)[1]).toBe('SIGKILL');
      shop = await start();
      await delivered;
      await untilState(unpaid.id, EXPIRED);
      await untilState(open.id, EXPIRED);
      await untilState(paid.id, PAID);
      await until('late money is back', () => lateMoney.refunds.length > 0, LIMIT_MS);
      await untilRefundsAreOver();
      expect(await read([unpaid, open, paid, late])).toMatchObject([
        { state: EXPIRED, closings: 1, payings: 0 },
        { state: EXPIRED, closings: 1, payings: 0 },
        { state: PAID, closings: 0, payings: 1 },
        { state: EXPIRED, closings: 1, payings: 0 },
      ]);
      expect(entry(open.references[0]).status).toBe('closed');
      expect([lateMoney.refunds.length, money.refunds.length]).toEqual([1, 0]);
    });
  });

  it('has one winner for each of 150 orders that are paid while they close, in three processes', async () => {
    const shops = [await start(), await start(), await start()];
    const anyShop = () => shops[Math.floor(Math.random() * shops.length)] as ShopProcess;
    const orders: Awaited<ReturnType<typeof place>>[] = [];
    // Due after all of them are written, however slow this machine is.
    for (let n = 0; n < RACES; n++) orders.push(await place(LIMIT_MS, 1 + (n % 2)));
    const [{ now }] = (await client.query<{ now: Date }>('SELECT now() AS now')).rows as [
      { now: Date },
    ];

    await timeouts.arm(
      fromPg(client),
      orders.map(({ id }) => ({
        kind: 'order-close',
        subjectId: id,
        dueAt: new Date(now.getTime() + Math.random() * SPAN_MS),
      })),
    );
    const buying = orders.map(async ({ references: own }, n) => {
      if (n % 10 >= 7) return;
      for (const reference of own) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * SPAN_MS * 1.5));
        // In time, or on a page that was left open: then the provider has taken late money.
        const inTime = acme.pay(reference, new Date());
        // What was taken in time is found by asking, too: some of those webhooks are lost.
        if (inTime && n % 5 === 0) continue;
        const notice = inTime ?? acme.pay(reference, new Date(), { late: true });
        if (!notice) throw new Error('The provider has taken no late money');
        await Promise.all([deliver(anyShop, notice), deliver(anyShop, notice)]);
      }
    });
    await Promise.all(buying);
    await until(
      'none is open',
      async () =>
        (await client.query('SELECT 1 FROM orders WHERE state = $1', [OPEN])).rowCount === 0,
      LIMIT_MS,
    );
    const areSettled = async (): Promise<boolean> =>
      (await read(orders)).every((order, nth) => {
        const paid = orders[nth]?.references.filter((one) => entry(one).money) ?? [];
        const kept = paid.filter((one) => entry(one).refunds.length === 0);
        return order.state === PAID ? kept.join() === order.paid_by : kept.length === 0;
      });
    await until('money is where it belongs', areSettled, LIMIT_MS);
    await untilRefundsAreOver();
    const all = await read(orders);
    expect(all.every(({ closings, payings }) => closings + payings === 1)).toBe(true);
    const refunds = orders.flatMap((one) => one.references).map((one) => entry(one).refunds.length);
    expect(Math.max(...refunds)).toBe(1);
    // It was a race: both have won, and both have lost.
    expect(new Set(all.map(({ state }) => state))).toEqual(new Set([PAID, EXPIRED]));
    for (const { process: child } of shops) child.kill('SIGKILL');
  });
});
