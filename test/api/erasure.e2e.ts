import { randomBytes, randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import {
  EraseCustomer,
  ExportCustomer,
  onDataSource,
  PaymentProviders,
  RelayEvents,
  runInvariants,
} from '@app/orders';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { pino } from 'pino';
import { SealHistory } from '../../libs/orders/src/events/seal-history';
import { verifyHistory } from '../../libs/orders/src/events/verify-history';
import { startTestApp, type TestApp } from '../support/app';
import { insertProduct, TEST_SKU } from '../support/insert-orders';
import { LedgerProvider } from '../support/ledger-provider';
import { until } from '../support/until';

/*
 * A customer whose name is found wherever it is kept does all that customers do; then nothing of the
 * name is left, in any table, in Redis or in what was logged, and the books and the seals hold. As the
 * application's restricted role, which may not touch history itself.
 */

const CANARY = `canary-${randomBytes(6).toString('hex')}`;
const provider = new LedgerProvider();
let redis: Redis;
let api: TestApp;
let logged = '';

beforeAll(async () => {
  api = await startTestApp({
    settings: {
      RETURN_URLS: 'https://shop.example/',
      RATE_LIMIT: '1000/m',
      MAX_OPEN_ORDERS: '20',
      CUSTOMER_EXTENSION: '2m',
    },
    override: (module) =>
      module.overrideProvider(PaymentProviders).useValue(new PaymentProviders([provider])),
  });
  redis = new Redis(api.config.REDIS_URL ?? '');
  await insertProduct(api);
  const sink = new Writable({
    write: (chunk: Buffer, _, done) => {
      logged += chunk.toString();
      done();
    },
  });
  const said = pino({ level: 'debug' }, sink);
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    jest.spyOn(api.logger, level).mockImplementation(said[level].bind(said));
  }
});
afterAll(async () => {
  redis?.disconnect();
  await api?.close();
});

const ask = async (path: Parameters<TestApp['request']>[0], body?: unknown, scope = 'orders') => {
  const sub = scope === 'orders' ? CANARY : 'olivia';
  const token = await api.token({ sub, scope });
  const headers = { 'idempotency-key': `${CANARY}-${randomUUID()}` };
  const answer = await api.request<{ id: string }>(path, { token, body, headers });
  if (answer.status >= 400) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
};
const place = async () =>
  (await ask('POST /v1/orders', { items: [{ sku: TEST_SKU, quantity: 1 }] })).id;

async function pay(orderId: string): Promise<void> {
  const returnUrl = `https://shop.example/thanks?for=${CANARY}`;
  const { id } = await ask(`POST /v1/orders/${orderId}/payments`, { returnUrl });
  const posted = provider.pay(id, new Date());
  const { body, headers = {} } = posted ?? {};
  const webhook = { body: body?.toString(), headers };
  expect((await api.request('POST /v1/webhooks/sandbox', webhook)).status).toBe(200);
}

/** Everything that a customer, and operators about them, can have had written down. */
async function aLife(): Promise<void> {
  const [completed, canceled, forced, refunded] = [
    await place(),
    await place(),
    await place(),
    await place(),
  ];
  await ask(`POST /v1/orders/${completed}/checkout-link`, {});
  await ask(`POST /v1/orders/${completed}/stream-token`, {});
  await ask(`POST /v1/orders/${completed}/extension`, { seconds: 60 });
  await pay(completed);
  const parcel = { carrier: 'DHL', trackingNumber: `${CANARY}-1` };
  await ask(`POST /v1/orders/${completed}/shipment`, parcel, 'merchant');
  await ask(`POST /v1/orders/${completed}/receipt`);
  await ask(`POST /v1/orders/${canceled}/cancel`);
  const reason = `${CANARY} has asked for it by phone`;
  await ask(`POST /v1/ops/orders/${forced}/force-close`, { reason }, 'ops');
  await pay(refunded);
  await ask(`POST /v1/ops/orders/${refunded}/refunds`, { amount: 500, reason }, 'ops');
  await until('the refund is through', async () => {
    const rows = await api.rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [
      refunded,
    ]);
    return rows[0]?.status === 'canceled';
  });
  const token = await api.token({ sub: CANARY, scope: 'orders' });
  expect((await api.request('GET /v1/ops/overview', { token })).status).toBe(403);
}

/** Tables in which anything of the name stands, in whatever column. */
async function tablesThatKnow(): Promise<string[]> {
  const tables = await api.rows<{ name: string }>(
    `SELECT relname AS name FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 1`,
  );
  const known: string[] = [];
  for (const { name } of tables) {
    const sql = `SELECT 1 FROM ${name} AS t WHERE t::text LIKE $1 LIMIT 1`;
    if ((await api.rows(sql, [`%${CANARY}%`])).length > 0) known.push(name);
  }
  return known;
}

/** Whatever Redis holds, in keys and in values. */
async function redisText(): Promise<string> {
  const texts = await Promise.all(
    (await redis.keys('*')).map(async (key) => [key, await dump(key, await redis.type(key))]),
  );
  return JSON.stringify(texts);
}

async function dump(key: string, type: string): Promise<unknown> {
  if (type === 'stream') return redis.xrange(key, '-', '+');
  if (type === 'hash') return redis.hgetall(key);
  if (type === 'zset') return redis.zrange(key, 0, -1);
  if (type === 'set') return redis.smembers(key);
  return type === 'list' ? redis.lrange(key, 0, -1) : redis.get(key);
}

const orders = () =>
  api.rows(`SELECT id, status, amount, paid_at, closed_at, shipped_at FROM orders ORDER BY id`);
const verified = () => verifyHistory(onDataSource(api.dataSource), null, 'all');

it('erases a customer from everything that is kept, and leaves the books and the seals as they are', async () => {
  await aLife();
  await until('all is sealed and relayed', async () => {
    // Several seals, as in production: which rows share one is a matter of when it was made.
    await api.app.get(SealHistory).runOnce(() => false, 3);
    await api.app.get(RelayEvents).runOnce();
    const [row] = await api.rows<{ n: string }>('SELECT sum(rows) AS n FROM history_seals');
    const [all] = await api.rows<{ n: string }>(
      `SELECT (SELECT count(*) FROM order_events) + (SELECT count(*) FROM operator_actions) AS n`,
    );
    return row?.n === all?.n && (await redisText()).includes(CANARY);
  });
  const before = await tablesThatKnow();
  expect(before).toEqual(
    expect.arrayContaining([
      ...['history_salts', 'idempotency_keys', 'operator_actions', 'order_events', 'orders'],
      ...['page_sessions', 'payment_keys', 'refund_keys', 'unpaid_orders', 'extension_keys'],
    ]),
  );
  const books = await orders();

  const exported = await api.app.get(ExportCustomer).export(CANARY);
  expect(exported.orders).toHaveLength(4);
  expect(JSON.stringify(exported)).not.toContain('olivia');
  expect(logged).toContain(exported.nameInLogs);

  const accountable = { actor: 'olivia', reason: 'request 2026-17' };
  const erase = api.app.get(EraseCustomer);
  const rehearsed = await erase.erase(CANARY, { ...accountable, dryRun: true });
  expect(rehearsed).toMatchObject({ orders: 4, streamed: 0 });
  expect(await tablesThatKnow()).toEqual(before);
  const erased = await erase.erase(CANARY, accountable);
  expect(erased).toMatchObject({ orders: 4, pseudonym: expect.stringMatching(/^erased:\w{32}$/) });
  expect(erased.streamed).toBeGreaterThan(0);

  expect(await tablesThatKnow()).toEqual([]);
  expect(await redisText()).not.toContain(CANARY);
  expect(logged).not.toContain(CANARY);
  expect(await orders()).toEqual(books);
  expect(await verified()).toMatchObject({ breaks: [] });
  const broken = await runInvariants(api, { limitMs: 60_000, newest: 'all' });
  expect(broken.filter(({ violations }) => violations > 0)).toEqual([]);
  await expect(erase.erase(CANARY, accountable)).rejects.toMatchObject({
    code: 'customer_not_found',
  });
});

it('tells of an owner who uses a pseudonym to hide something else', async () => {
  const owner = new Client({
    connectionString: api.ownerUrl,
    options: `-c search_path=${api.config.DATABASE_SCHEMA}`,
  });
  await owner.connect();
  try {
    const ofCustomers = await owner.query<{ seal: number }>(
      `SELECT number::int AS seal FROM history_seals AS s WHERE history = 'order_events' AND EXISTS (
         SELECT 1 FROM order_events AS e
          WHERE e.by = 'customer' AND e.tx >= s.from_tx AND e.tx < s.until_tx)`,
    );
    expect(ofCustomers.rows.length).toBeGreaterThan(1);
    await owner.query(`UPDATE order_events SET actor = 'erased:0000' WHERE by = 'customer'`);
    const { breaks } = await verified();
    const seals = breaks.map(({ history, what, seal }) => ({ history, what, seal }));
    const broken = ofCustomers.rows.map((row) => ({
      history: 'order_events',
      what: 'rows',
      ...row,
    }));
    expect(seals).toHaveLength(broken.length);
    expect(seals).toEqual(expect.arrayContaining(broken));
  } finally {
    await owner.end();
  }
});

it('leaves a customer alone whose order is not over, and keeps no name in the reason', async () => {
  const token = await api.token({ sub: 'bob' });
  const body = { items: [{ sku: TEST_SKU, quantity: 1 }] };
  await api.request('POST /v1/orders', { token, body, headers: { 'idempotency-key': 'bob' } });
  const erase = api.app.get(EraseCustomer);
  const refused = erase.erase('bob', { actor: 'olivia', reason: 'request 18' });
  await expect(refused).rejects.toMatchObject({ code: 'customer_not_erasable' });
  const naming = erase.erase('bob', { actor: 'olivia', reason: 'asked by bob' });
  await expect(naming).rejects.toMatchObject({ code: 'invalid_request' });
});
