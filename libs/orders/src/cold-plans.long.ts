import { randomUUID } from 'node:crypto';
import { fanOutAll } from '../../../test/support/fan-out-all';
import { insertOrders, insertProduct } from '../../../test/support/insert-orders';
import { type Payable, receive } from '../../../test/support/paid-order';
import type { Posted } from '../../../test/support/ledger-provider';
import { Plans } from '../../../test/support/plans';
import { relayAll } from '../../../test/support/relay-all';
import { startWebhookListener, type WebhookListener } from '../../../test/support/webhook-listener';
import { until } from '../../../test/support/until';
import { openWorld, type World } from '../../../test/support/world';
import { DeliverWebhooks } from './deliveries/deliver-webhooks';
import { WebhookEndpoints } from './deliveries/endpoints';
import { FanOutEvents } from './deliveries/fan-out';
import { PlaceOrder } from './placing/place-order';
import { FoldStock } from './stock/fold-stock';

/** A statement that is run so often by a connection keeps its plan. */
const UNTIL_KEPT = 8;
const ORDERS = 3_000;
const LATE = 600;
const SKUS = Array.from({ length: 100 }, (_, index) => `TEA-${index}`);
/**
 * What a statement may read and throw away for each order or event: a few rows, and never a
 * share of all there are. The most that one throws away is three for each time it looks, and whoever met
 * a lock looks once more.
 */
const MOST_IN_VAIN = 6;
/**
 * Blocks are also those of what is dead and cannot be passed over yet, which whoever looks reads once more: an
 * ANALYZE that begins meanwhile may keep it for a moment. A statement that reads a share of a table for each order
 * reads fifty and more.
 */
const MOST_BLOCKS_IN_VAIN = 2 * MOST_IN_VAIN;

/**
 * The hour of the first order: Postgres has last looked at tables that were small, or empty, and
 * every connection keeps plans from then, until autovacuum comes by, at the earliest in a minute.
 */
describe.each(
  (['auto', 'force_generic_plan'] as const).flatMap((mode) => [
    { mode, what: 'empty', rows: 0 },
    { mode, what: 'all but empty', rows: 2 },
    { mode, what: 'small', rows: 200 },
  ]),
)('plans ($mode) that were made while the tables were $what', ({ mode, rows }) => {
  let world: World;
  let plans: Plans;
  let listener: WebhookListener;
  beforeAll(async () => {
    world = await openWorld({ settings: { WEBHOOKS_ALLOW_PRIVATE: 'on' } });
    listener = await startWebhookListener();
    const endpoint = { url: listener.url, events: ['*'] };
    await world.get(WebhookEndpoints).create(endpoint, { actor: 'mia', reason: 'a test' });
    for (const sku of SKUS) await insertProduct(world, sku, 10_000_000);
    plans = await Plans.of(world, mode);
    const tables = await world.rows<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'lastcall'::regnamespace`,
    );
    for (const { name } of tables) {
      await world.rows(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
    }
    if (rows > 0) await doAll(rows);
    await world.rows('ANALYZE');
    for (let round = 0; round < UNTIL_KEPT; round++) await doAll(2);
    plans.forget();
  });
  afterAll(async () => {
    await world?.close();
    await listener?.close();
  });

  async function doAll(count: number): Promise<void> {
    await place(count);
    await close(count);
    await pay(count);
    await decline(count);
    await close(count);
    await closeOpen(count);
    await refund(count);
    await tell();
  }

  const fold = () => world.get(FoldStock).runOnce();

  const place = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        world.get(PlaceOrder).place({
          customerId: randomUUID(),
          idempotencyKey: randomUUID(),
          items: [0, 1].map((line) => ({
            sku: SKUS[(2 * index + line) % SKUS.length] as string,
            quantity: 1,
          })),
        }),
      ),
    );

  /** All that are placed; so many. */
  async function close(count: number): Promise<void> {
    await world.rows(
      `UPDATE orders SET pay_by = now(), closes_at = now() WHERE status = 'pending_payment'`,
    );
    await world.rows(`UPDATE deadlines SET due_at = now(), far = false WHERE kind = 'payment'`);
    plans.forget();
    expect(await world.timeouts.runSweep()).toMatchObject({ changed: count });
    await fold();
  }

  async function pay(count: number): Promise<void> {
    const orders = await insertOrders(world, { count, closesInMs: 3_600_000, payment: 'open' });
    await payAll(orders as Payable[]);
    await fold();
  }

  async function decline(count: number): Promise<void> {
    const orders = await insertOrders(world, { count, closesInMs: 3_600_000, payment: 'open' });
    await Promise.all(
      (orders as Payable[]).map(({ paymentId, amount }) => {
        const entry = world.provider.open({ paymentId, amount, currency: 'EUR' });
        return receive(world, world.provider.failed(entry));
      }),
    );
  }

  async function payAll(orders: readonly Payable[]): Promise<void> {
    await Promise.all(
      orders.map(({ paymentId, amount }) => {
        world.provider.open({ paymentId, amount, currency: 'EUR' });
        return receive(world, world.provider.pay(paymentId, new Date()) as Posted);
      }),
    );
  }

  /**
   * What thousands have left behind is passed over once, by whoever looks when nobody can see it any more: who
   * comes after that does not read it. Until then, as beside another drainer or an ANALYZE, all read it.
   */
  async function passTheDead(): Promise<void> {
    const seers = `SELECT FROM pg_stat_activity WHERE datname = current_database()
                      AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()`;
    await until('nobody can see it', async () => (await world.rows(seers)).length === 0);
    await world.timeouts.runSweep();
  }

  /** Each behind the fence, once its provider has closed its payment. */
  async function closeOpen(count: number): Promise<void> {
    const orders = await insertOrders(world, { count, closesInMs: -1_000, payment: 'open' });
    for (const { paymentId, amount } of orders as Payable[]) {
      world.provider.open({ paymentId, amount, currency: 'EUR' });
    }
    const ids = orders.map(({ id }) => id);
    await until('all are closed', async () => {
      await passTheDead();
      const [row] = await world.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM orders WHERE id = ANY ($1::uuid[]) AND status = 'closed'`,
        [ids],
      );
      return row?.n === count;
    });
    await fold();
  }

  /** They are paid after they were closed. */
  async function refund(count: number): Promise<void> {
    const orders = await insertOrders(world, { count, closesInMs: -1_000, payment: 'failed' });
    await world.timeouts.runSweep();
    plans.forget();
    await payAll(orders as Payable[]);
    await until('all is given back', async () => {
      await world.timeouts.runSweep();
      const [row] = await world.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM refunds WHERE status <> 'succeeded'`,
      );
      return row?.n === 0;
    });
    const [{ n } = { n: 0 }] = await world.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM refunds WHERE payment_id = ANY ($1::uuid[])`,
      [orders.map(({ paymentId }) => paymentId)],
    );
    expect(n).toBe(count);
  }

  /** The stream and the shop's endpoint, of everything so far. */
  async function tell(): Promise<void> {
    await relayAll(world);
    await fanOutAll(world, world.get(FanOutEvents));
    await world.get(DeliverWebhooks).runOnce();
  }

  const tooMuch = (orders = ORDERS) =>
    plans
      .waste()
      .filter(
        ({ inVain, blocksInVain, arraysInLoops }) =>
          inVain > MOST_IN_VAIN * orders ||
          blocksInVain > MOST_BLOCKS_IN_VAIN * orders ||
          arraysInLoops > orders / 100,
      );

  it('place thousands without reading in vain', async () => {
    await place(ORDERS);
    expect(tooMuch()).toEqual([]);
  });

  it('close thousands, and give their stock back, without reading in vain', async () => {
    await close(ORDERS);
    expect(tooMuch()).toEqual([]);
  });

  it('close hundreds behind the fence without reading in vain', async () => {
    await passTheDead();
    plans.forget();
    await closeOpen(LATE);
    expect(tooMuch(LATE)).toEqual([]);
  });

  it('find that hundreds have closed meanwhile without reading in vain', async () => {
    await world.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT 'closing', now(), id FROM orders WHERE status = 'closed' LIMIT $1
       ON CONFLICT DO NOTHING`,
      [LATE],
    );
    plans.forget();
    const { lost } = await world.timeouts.runSweep();
    // Those of the test before may be among them.
    expect(lost).toBeGreaterThanOrEqual(LATE);
    expect(tooMuch(lost)).toEqual([]);
  });

  it('refund hundreds that were paid too late without reading in vain', async () => {
    await refund(LATE);
    expect(tooMuch(LATE)).toEqual([]);
  });

  it('tell of all that without reading in vain', async () => {
    plans.forget();
    const heard = listener.heard.length;
    await tell();
    const told = listener.heard.length - heard;
    expect(told).toBeGreaterThan(2 * ORDERS);
    expect(tooMuch(told)).toEqual([]);
  });

  it('leave what is behind thousands of refused webhooks without reading in vain', async () => {
    await world.rows(
      `UPDATE webhook_deliveries SET status = 'pending', settled_at = NULL,
              next_attempt_at = now() + CASE version WHEN 1 THEN interval '6 hours' ELSE '0' END`,
    );
    plans.forget();
    expect(await world.get(DeliverWebhooks).runOnce()).toEqual({ delivered: 0, failed: 0 });
    const [row] = await world.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM webhook_deliveries WHERE version > 1 AND next_attempt_at > now()`,
    );
    expect(row?.n).toBeGreaterThanOrEqual(1_000);
    expect(tooMuch()).toEqual([]);
    await world.rows('UPDATE webhook_deliveries SET next_attempt_at = now()');
    await world.get(DeliverWebhooks).runOnce();
  });

  it('note thousands of declined payments without reading in vain', async () => {
    plans.forget();
    await decline(ORDERS);
    expect(tooMuch()).toEqual([]);
  });

  it('pay thousands without reading in vain', async () => {
    await pay(ORDERS);
    expect(tooMuch()).toEqual([]);
  });
});
