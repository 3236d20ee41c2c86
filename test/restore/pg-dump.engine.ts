import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Check, FanOutEvents, RelayEvents } from '@app/orders';
import { Redis } from 'ioredis';
import { type Sandbox, startSandbox } from '../../apps/sandbox/src/sandbox';
import { SealHistory } from '../../libs/orders/src/events/seal-history';
import { verifyHistory } from '../../libs/orders/src/events/verify-history';
import { startPostgres } from '../../scripts/services/index.mjs';
import { findPostgresPrograms } from '../../scripts/services/postgres-programs.mjs';
import { startTestApp, type TestApp, WEBHOOK_SECRET } from '../support/app';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { insertProduct } from '../support/insert-orders';
import { endHost, lastcallJson } from '../support/lastcall';
import { BY_HAND, Shop } from '../support/shop';
import { until } from '../support/until';
import { startWebhookListener, type WebhookListener } from '../support/webhook-listener';

/*
 * docs/operations.md, "Backup and restore", by PostgreSQL's own programs: a shop is dumped, and restored
 * into another cluster, which counts transactions anew.
 */

/** So many more transactions has the old cluster made: the history is ahead of the new one. */
const TRANSACTIONS = 20_000;
const BURN = `
  DO $$ BEGIN FOR i IN 1..${TRANSACTIONS} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`;
/** Others have seen what was written after the dump. */
const NUMBER_ON = `
  SELECT setval(pg_get_serial_sequence('lastcall.order_events', 'id'), max(id) + 1000000)
    FROM lastcall.order_events`;
const OPERATOR = ['--actor', 'olga', '--reason', 'restored from the dump of tonight'];

type Cluster = Awaited<ReturnType<typeof startPostgres>>;

const folder = mkdtempSync(join(tmpdir(), 'lastcall-restore-'));
const dump = join(folder, 'shop.dump');
const clusters: Cluster[] = [];
let sandbox: Sandbox;
let listener: WebhookListener;
let app: TestApp | undefined;

beforeAll(async () => {
  // Root's servers run as somebody else.
  chmodSync(folder, 0o711);
  listener = await startWebhookListener();
  sandbox = await startSandbox({
    port: 0,
    dataFolder: null,
    webhookUrl: 'http://127.0.0.1:9/',
    webhookSecret: WEBHOOK_SECRET,
  });
});
afterAll(async () => {
  await app?.close();
  await endHost();
  await sandbox?.close();
  await listener?.close();
  for (const cluster of clusters) await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('goes on in another cluster, after the one command that doctor names', async () => {
  const old = await createDatabase('old');
  await asItsOwner(old, BURN);
  let shop = await open(old);
  const { paid, waiting, open: unpaid } = await trade(shop);
  await app?.close();
  app = undefined;

  run(programs().pgDump, ['--format=custom', `--file=${dump}`, old.url]);
  const restored = await createDatabase('new');
  run(programs().pgRestore, ['--exit-on-error', `--dbname=${restored.url}`, dump]);
  await asItsOwner(restored, NUMBER_ON);

  shop = await open(restored);
  expect(await relayCheck()).toMatchObject({
    state: 'finding',
    detail: expect.stringContaining('another cluster'),
    fix: expect.stringContaining('lastcall events rewind'),
  });
  const fresh = await shop.place();
  await running().app.get(RelayEvents).runOnce();
  expect((await streamed()).has(fresh.id)).toBe(false);
  const [newest] = await running().rows<{ id: string }>('SELECT max(id) AS id FROM order_events');
  expect(Number(newest?.id)).toBeGreaterThan(1_000_000);

  const rewound = await lastcallJson(running().config, ['events', 'rewind', ...OPERATOR]);
  expect(rewound).toMatchObject({ code: 0, result: { wasStuck: true } });

  // Whatever was under way goes on: a payment, a deadline, a shipment and a refund.
  await shop.buyerPays(waiting.providerId);
  await shop.untilOrder(waiting.orderId, 'paid');
  await shop.passDeadline([unpaid]);
  await shop.untilOrder(unpaid, 'closed');
  await shop.api('POST', `/v1/orders/${paid.orderId}/shipment`, undefined, {}, 'merchant');
  await refund(shop, waiting.orderId, 40);
  await shop.untilRefunded(waiting.orderId);

  await until('the stream has the whole history, each order in its order', async () => {
    await running().app.get(RelayEvents).runOnce();
    return same(await streamed(), await written());
  });
  await until('the new order is told of', async () => {
    await running().app.get(FanOutEvents).runOnce();
    return listener.heard.some(({ orderId }) => orderId === fresh.id);
  });
  await shop.untilSound();
  await seal();
  const { breaks } = await verifyHistory(running(), null, 'all');
  expect(breaks).toEqual([]);

  for (const command of [
    ['timeouts', 'backfill'],
    ['timeouts', 'verify', '--fix', ...OPERATOR],
    ['reconcile', '--since', '7d', '--fix', ...OPERATOR],
  ]) {
    const { code, stderr } = await lastcallJson(running().config, command);
    expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({
      command,
      code: 0,
      stderr: '',
    });
  }
  expect(await relayCheck()).toMatchObject({ state: 'ok' });
});

function programs(): NonNullable<ReturnType<typeof findPostgresPrograms>> {
  const found = findPostgresPrograms();
  if (!found)
    throw new Error('PostgreSQL is not installed here: npm run test:engines says what to do');
  return found;
}

/** In a cluster of its own. The roles, which no dump has, are there as they are to be before a restore. */
async function createDatabase(name: string): Promise<TestDatabase> {
  const cluster = await startPostgres({
    ...{ dataDir: join(folder, name), logFile: join(folder, `${name}.log`), password: 'owner' },
    ...{ durable: false, programs: programs() },
  });
  clusters.push(cluster);
  return createTestDatabase({ databaseUrl: cluster.url });
}

async function asItsOwner({ url }: TestDatabase, sql: string): Promise<void> {
  const owner = asOwner(url);
  await owner.rows(sql);
  await owner.close();
}

/** API and worker, with a Redis of their own: there is nothing to restore in it. */
async function open(database: TestDatabase): Promise<Shop> {
  const settings = { ...BY_HAND, SANDBOX_URL: sandbox.url };
  app = await startTestApp({ database, settings: { ...settings, WEBHOOKS_ALLOW_PRIVATE: 'on' } });
  const shop = new Shop(app.baseUrl, sandbox.url, app);
  await shop.sandbox('PUT', '/v1/webhooks/endpoint', { url: `${app.baseUrl}/v1/webhooks/sandbox` });
  return shop;
}

function running(): TestApp {
  if (!app) throw new Error('nothing runs');
  return app;
}

interface Payment {
  readonly orderId: string;
  readonly providerId: string;
}

/** What a shop has when it is dumped: orders in every state, money that went back, seals, deliveries. */
async function trade(shop: Shop): Promise<{ paid: Payment; waiting: Payment; open: string }> {
  await insertProduct(shop.sql);
  await running().request('POST /v1/ops/webhook-endpoints', {
    token: await running().token({ scope: 'merchant ops' }),
    body: { url: listener.url, events: ['order.placed'], reason: 'the warehouse' },
  });
  const [paid, late] = [await shop.placeWithPayment(), await shop.placeAndCancel()];
  await shop.buyerPays(paid.providerId);
  await shop.untilOrder(paid.orderId, 'paid');
  await refund(shop, paid.orderId, 10);
  await shop.untilRefunded(paid.orderId);
  await shop.buyerPays(late.providerId).catch(() => undefined);
  const waiting = await shop.placeWithPayment();
  const { id } = await shop.place();
  await shop.untilSound();
  await until('all of it is in the stream', async () => same(await streamed(), await written()));
  await seal();
  return { paid, waiting, open: id };
}

const refund = (shop: Shop, orderId: string, amount: number): Promise<unknown> =>
  shop.api('POST', `/v1/ops/orders/${orderId}/refunds`, { amount, reason: 'a dent' }, {}, 'ops');

async function seal(): Promise<void> {
  await until('the history is sealed', async () => {
    await running().app.get(SealHistory).runOnce();
    const [row] = await running().rows<{ sealed: boolean }>(
      `SELECT EXISTS (SELECT FROM history_seals) AS sealed`,
    );
    return row?.sealed;
  });
}

async function relayCheck(): Promise<Check | undefined> {
  const { result } = await lastcallJson<{ checks: Check[] }>(running().config, ['doctor']);
  return result.checks.find(({ name }) => name === 'event relay');
}

type Versions = Map<string, string>;

/** Each order's versions, as they came first. */
async function streamed(): Promise<Versions> {
  const redis = new Redis(running().config.REDIS_URL ?? '');
  const versions: Versions = new Map();
  try {
    for (const [, fields] of await redis.xrange('lc:order-events', '-', '+')) {
      const entry = Object.fromEntries(
        fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]]] : [])),
      ) as { orderId: string; version: string };
      const before = versions.get(entry.orderId)?.split(' ') ?? [];
      if (!before.includes(entry.version)) {
        versions.set(entry.orderId, [...before, entry.version].join(' '));
      }
    }
  } finally {
    redis.disconnect();
  }
  return versions;
}

async function written(): Promise<Versions> {
  const rows = await running().rows<{ order_id: string; versions: string }>(
    `SELECT order_id, string_agg(version::text, ' ' ORDER BY version) AS versions
       FROM order_events GROUP BY order_id`,
  );
  return new Map(rows.map(({ order_id: id, versions }) => [id, versions]));
}

function same(some: Versions, others: Versions): boolean {
  return (
    some.size === others.size && [...some].every(([id, versions]) => others.get(id) === versions)
  );
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
}
