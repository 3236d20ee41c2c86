import { runInvariants } from '@app/orders';
import { startSandbox, type Sandbox } from '../../apps/sandbox/src/sandbox';
import { FoldStock } from '../../libs/orders/src/stock/fold-stock';
import type { LockMode } from './racer';
import { Racer } from './racers';
import { type InsertedOrder, insertOrders } from '../support/insert-orders';
import { takeRedisDatabase } from '../support/redis';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

const ORDERS = 500;
/** So many of them have a payment that is open to us: they go by the careful lane. */
const CAREFUL = 100;
const WEBHOOK_SECRET = 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=';
/** Of ten orders, so many are paid, in the span around the deadline. */
const PAID_OF_TEN = 7;
const SPAN_MS = 400;
/** The deadline of all of them, counted from when everything stands ready: the first are paid before it. */
const CLOSES_AFTER_SPANS = 1.25;

describe('a payment and a close that meet', () => {
  let racers: Racer[];
  let sandbox: Sandbox;
  beforeAll(async () => {
    racers = [new Racer(), new Racer(), new Racer()];
    const dataFolder = null;
    const webhookUrl = 'http://127.0.0.1:1/';
    sandbox = await startSandbox({
      port: 0,
      webhookUrl,
      webhookSecret: WEBHOOK_SECRET,
      dataFolder,
    });
  });
  afterAll(async () => {
    for (const racer of racers) racer.end();
    await sandbox?.close();
  });

  const call = async (method: string, path: string, body: object): Promise<Response> =>
    fetch(sandbox.url + path, {
      method,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });

  it.each<LockMode>(['on', 'no-op', '1 ms'])(
    'have one winner for each of 500 orders, with the lock %s',
    async (lock) => {
      const world = await openWorld();
      try {
        await race(world, lock);
      } finally {
        await world.close();
      }
    },
    180_000,
  );

  async function race(world: World, lock: LockMode): Promise<void> {
    const common = {
      lock,
      databaseUrl: world.config.DATABASE_URL,
      redisUrl: await takeRedisDatabase(),
      sandboxUrl: sandbox.url,
      webhookSecret: WEBHOOK_SECRET,
    };
    const [url] = await Promise.all(
      racers.map((racer, index) =>
        racer.start({ ...common, role: index === 0 ? 'callback' : 'closer' }),
      ),
    );
    await call('PUT', '/v1/webhooks/endpoint', { url });
    const { orders, spanMs } = await openOrders(world);
    const paid = await payAround(orders, spanMs);
    await until(
      'everything is settled',
      async () => (await unsettled(world)) === 0 && (await undelivered()) === 0,
      60_000,
    );
    const errors = await Promise.all(racers.map((racer) => racer.stop()));
    expect(errors.flat()).toEqual([]);
    await expectOneWinnerEach(world, orders, paid);
  }

  /** Some with a payment that is open to us, most with one that we believe to have failed. */
  async function openOrders(world: World): Promise<{ orders: InsertedOrder[]; spanMs: number }> {
    const many = (count: number) => ({ count, closesInMs: 600_000 });
    const orders = [
      ...(await insertOrders(world, { ...many(CAREFUL), payment: 'open' })),
      ...(await insertOrders(world, { ...many(ORDERS - CAREFUL), payment: 'failed', sku: 'POT' })),
    ];
    const startedMs = performance.now();
    const ids = await Promise.all(
      orders.map(async ({ paymentId: reference, amount }) => {
        const answer = await call('POST', '/v1/payments', { reference, amount, currency: 'EUR' });
        return ((await answer.json()) as { id: string }).id;
      }),
    );
    // To pay them takes as long as to open them: a slow machine gets its time on either side.
    const spanMs = Math.max(SPAN_MS, performance.now() - startedMs);
    const [row] = await world.rows<{ closes_at: Date }>(
      `WITH known AS (
         UPDATE payments p SET provider_payment_id = n.theirs
           FROM unnest($1::uuid[], $2::text[]) AS n (ours, theirs) WHERE p.id = n.ours
       ), moved AS (
         UPDATE orders SET closes_at = now() + $3 * interval '1 millisecond' RETURNING closes_at
       ), armed AS (
         UPDATE deadlines SET due_at = now() + $3 * interval '1 millisecond'
       )
       SELECT closes_at FROM moved LIMIT 1`,
      [orders.map(({ paymentId }) => paymentId), ids, Math.round(CLOSES_AFTER_SPANS * spanMs)],
    );
    const { closes_at: closesAt } = row as { closes_at: Date };
    const opened = orders.map((order, i) => ({ ...order, closesAt, paymentId: ids[i] as string }));
    return { orders: opened, spanMs };
  }

  /** Pays most of the orders from just before to just after their deadline; who got through. */
  async function payAround(orders: readonly InsertedOrder[], spanMs: number): Promise<Set<string>> {
    const paid = new Set<string>();
    await Promise.all(
      orders.map(async ({ id, paymentId, closesAt }, index) => {
        if (index % 10 >= PAID_OF_TEN) return;
        // Scattered, so that both lanes are paid before, at and after the deadline.
        const offsetMs = ((index * 7_919) % ORDERS) * (spanMs / ORDERS) - spanMs / 2;
        const waitMs = closesAt.getTime() + offsetMs - Date.now();
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        const answer = await call('POST', `/v1/payments/${paymentId}/pay`, {});
        if (answer.status === 200) paid.add(id);
      }),
    );
    return paid;
  }

  async function unsettled(world: World): Promise<number> {
    const [row] = await world.rows<{ n: string }>(
      `SELECT (SELECT count(*) FROM orders WHERE status IN ('pending_payment', 'closing'))
            + (SELECT count(*) FROM refunds WHERE status <> 'succeeded')
            + (SELECT count(*) FROM webhook_events WHERE status = 'received') AS n`,
    );
    return Number(row?.n);
  }

  async function undelivered(): Promise<number> {
    const health = await fetch(`${sandbox.url}/health`);
    return ((await health.json()) as { undeliveredWebhooks: number }).undeliveredWebhooks;
  }

  async function expectOneWinnerEach(
    world: World,
    orders: readonly InsertedOrder[],
    paid: ReadonlySet<string>,
  ): Promise<void> {
    const rows = await world.rows<{ id: string; status: string; exits: string; refunds: string }>(
      `SELECT o.id, o.status,
              (SELECT count(*) FROM order_events e
                WHERE e.order_id = o.id AND e.from_status = 'pending_payment') AS exits,
              (SELECT count(*) FROM refunds r JOIN payments p ON p.id = r.payment_id
                WHERE p.order_id = o.id AND r.status = 'succeeded' AND r.amount = o.amount)
                AS refunds
         FROM orders o`,
    );
    expect(rows).toHaveLength(orders.length);
    const wrong = rows.filter(({ id, status, exits, refunds }) => {
      const moneyIsRight = status === 'paid' ? refunds === '0' : refunds === `${+paid.has(id)}`;
      const statusIsRight = status === 'closed' || (status === 'paid' && paid.has(id));
      return exits !== '1' || !statusIsRight || !moneyIsRight;
    });
    expect(wrong).toEqual([]);
    const count = (status: string): number => rows.filter((row) => row.status === status).length;
    await world.get(FoldStock).runOnce();
    const stock = await world.rows(
      'SELECT sum(sold)::int AS sold, sum(reserved)::int AS reserved FROM products',
    );
    expect(stock).toEqual([{ sold: count('paid'), reserved: 0 }]);
    // Both sides have won some, or nothing was raced.
    expect(count('paid')).toBeGreaterThan(20);
    expect(rows.filter(({ refunds }) => refunds === '1').length).toBeGreaterThan(0);
    const results = await runInvariants(world, { limitMs: 15_000, newest: 'all' });
    // Nobody relays here.
    expect(results.filter(({ id, violations }) => violations > 0 && id !== 12)).toEqual([]);
  }
});
