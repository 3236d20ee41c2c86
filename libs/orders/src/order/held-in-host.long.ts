import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { atLeisure } from '../../../../test/support/at-leisure';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { type Posted } from '../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../test/support/world';
import { timed } from '../../../timeout/src/testing/awake-time';
import { answerTo } from '../http/error-problem';
import { ReceiveWebhook } from '../payments/receive-webhook';
import { PlaceOrder } from '../placing/place-order';
import type { HookTx } from './hook-tx';
import { type HooksOrders, type OrderDraft, OrderHook, type OrderTransition } from './order-hook';
import type { StockPort } from './stock-port';

/** The host's stock takes its rows as anybody would, and waits for them. */
const shelf: StockPort = {
  async reserve(lines, tx) {
    await tx.query('SELECT 1 FROM public.shelf WHERE sku = ANY ($1) ORDER BY sku FOR UPDATE', [
      lines.map(({ sku }) => sku),
    ]);
    return [];
  },
  apply: async () => undefined,
};

/** The host keeps a purse for each customer, and writes to it. */
@OrderHook()
class Purses implements HooksOrders {
  async beforePlace(drafts: readonly OrderDraft[], tx: HookTx): Promise<[]> {
    await tx.query('UPDATE public.purses SET asked = asked + 1 WHERE customer = ANY ($1)', [
      drafts.map(({ customerId }) => customerId),
    ]);
    return [];
  }

  async onTransition({ to, orderIds }: OrderTransition, tx: HookTx): Promise<void> {
    if (to !== 'paid') return;
    await tx.query(
      `UPDATE public.purses SET paid = paid + 1 FROM shop.orders o
        WHERE o.id = ANY ($1) AND customer = o.customer_id`,
      [orderIds],
    );
  }
}

/** Of those who wait for nothing; at a second for each halving it was 12 s and more. */
const STRANGERS_WITHIN_MS = 2_000;
const SKUS = Array.from({ length: 40 }, (_, nth) => `SKU-${String(nth).padStart(2, '0')}`);

describe('a lock that the host itself waits for', () => {
  let world: World;
  let neighbour: Client;

  beforeAll(async () => {
    world = await openWorld({ stock: shelf, provides: [Purses] });
    for (const sku of [...SKUS, 'HELD']) await insertProduct(world, sku);
    const schema = world.config.DATABASE_SCHEMA;
    const role = new URL(world.config.DATABASE_URL).username;
    await world.rows(`CREATE TABLE public.shelf (sku text PRIMARY KEY)`);
    await world.rows(`INSERT INTO public.shelf SELECT unnest($1::text[])`, [[...SKUS, 'HELD']]);
    await world.rows(
      `CREATE TABLE public.purses (customer text PRIMARY KEY, asked int DEFAULT 0, paid int DEFAULT 0)`,
    );
    await world.rows(`GRANT ALL ON public.shelf, public.purses TO "${role}"`);
    await world.rows(`CREATE SCHEMA IF NOT EXISTS shop`);
    await world.rows(`CREATE VIEW shop.orders AS SELECT * FROM ${schema}.orders`);
    await world.rows(`GRANT USAGE ON SCHEMA shop TO "${role}"`);
    await world.rows(`GRANT SELECT ON shop.orders TO "${role}"`);
    neighbour = new Client({ connectionString: world.ownerUrl });
    await neighbour.connect();
  });
  afterAll(async () => {
    await neighbour?.end();
    await world?.close();
  });
  beforeEach(() => neighbour.query('BEGIN'));
  afterEach(() => neighbour.query('ROLLBACK'));

  const place = (customerId: string, sku: string) =>
    world.get(PlaceOrder).place({
      ...{ customerId, idempotencyKey: randomUUID() },
      items: [{ sku, quantity: 1 }],
    });

  /** What those who need it are told, and how long it took strangers to get theirs. */
  async function placedBeside(held: () => Promise<unknown>[], strangers: () => Promise<unknown>[]) {
    const waiting = Promise.allSettled(held());
    const { result: placed, tookMs } = await timed(() => Promise.all(strangers()));
    return { placed, tookMs, refused: await waiting };
  }

  it('holds up no placing but of the products on that shelf', async () => {
    await neighbour.query(`SELECT 1 FROM public.shelf WHERE sku = 'HELD' FOR UPDATE`);
    for (const round of ['first', 'second']) {
      const { placed, tookMs, refused } = await placedBeside(
        () => Array.from({ length: 4 }, (_, nth) => place(`${round}-${nth}`, 'HELD')),
        () => SKUS.slice(4).map((sku, nth) => place(`${round}-stranger-${nth}`, sku)),
      );
      expect(placed).toHaveLength(36);
      expect(tookMs).toBeLessThan(STRANGERS_WITHIN_MS);
      for (const one of refused) {
        const { reason } = one as PromiseRejectedResult;
        expect(answerTo(reason).problem).toMatchObject({ status: 503, code: 'busy' });
        expect(String(reason)).toContain('"HELD"');
      }
    }
  });

  it('places those, too, once the shelf is free', async () => {
    await neighbour.query(`SELECT 1 FROM public.shelf WHERE sku = 'HELD' FOR UPDATE`);
    // They wait for two seconds, which is little for a busy machine.
    await atLeisure(async () => {
      const waiting = Promise.all(
        Array.from({ length: 20 }, (_, nth) => place(`early-${nth}`, 'HELD')),
      );
      await place('stranger', 'SKU-00');
      await neighbour.query('ROLLBACK');
      await neighbour.query('BEGIN');
      expect(await waiting).toHaveLength(20);
    });
  });

  it('holds up nobody but the customer whose hook waits', async () => {
    await world.rows(`INSERT INTO public.purses VALUES ('ann') ON CONFLICT DO NOTHING`);
    await neighbour.query(`SELECT 1 FROM public.purses WHERE customer = 'ann' FOR UPDATE`);
    const { placed, tookMs, refused } = await placedBeside(
      () => [place('ann', 'SKU-00')],
      () => Array.from({ length: 39 }, (_, nth) => place(`bob-${nth}`, 'SKU-00')),
    );
    expect(placed).toHaveLength(39);
    expect(tookMs).toBeLessThan(STRANGERS_WITHIN_MS);
    expect(answerTo((refused[0] as PromiseRejectedResult).reason).problem).toMatchObject({
      ...{ status: 503, code: 'busy' },
      detail: 'Somebody is changing what this order needs at this moment; try again soon',
    });
  });

  it('takes the money of all others at once, and stores the notice that waits', async () => {
    const orders = await insertOrders(world, { count: 40, closesInMs: 600_000, payment: 'open' });
    const [held] = orders;
    await world.rows(
      `WITH mine AS (UPDATE orders SET customer_id = 'cid' WHERE id = $1)
       INSERT INTO public.purses VALUES ('cid') ON CONFLICT DO NOTHING`,
      [held?.id],
    );
    await neighbour.query(`SELECT 1 FROM public.purses WHERE customer = 'cid' FOR UPDATE`);
    const notices = orders.map(({ paymentId, amount }) => {
      world.provider.open({ paymentId: paymentId as string, amount, currency: 'EUR' });
      return world.provider.pay(paymentId as string, new Date()) as Posted;
    });
    const { tookMs } = await timed(() =>
      Promise.all(
        notices.map(({ body, headers }) =>
          world.get(ReceiveWebhook).receive('sandbox', body, headers),
        ),
      ),
    );
    expect(tookMs).toBeLessThan(STRANGERS_WITHIN_MS);
    const statuses = await world.rows<{ id: string; status: string }>(
      'SELECT id, status FROM orders WHERE id = ANY ($1)',
      [orders.map(({ id }) => id)],
    );
    expect(statuses.filter(({ status }) => status === 'paid')).toHaveLength(39);
    expect(statuses.find(({ id }) => id === held?.id)?.status).toBe('pending_payment');
    expect(
      await world.rows(`SELECT d.kind FROM deadlines d JOIN webhook_events w ON w.id = d.subject_id
                         WHERE d.kind = 'webhook' AND w.status = 'received'`),
    ).toHaveLength(1);
    expect(world.told.filter(({ name }) => name === 'failed')).toEqual([]);
  });
});
