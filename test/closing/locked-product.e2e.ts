import { randomUUID } from 'node:crypto';
import { LastcallError, PlaceOrder, ReceiveWebhook, runInvariants } from '@app/orders';
import { onFailpoint } from '@app/timeout';
import { Client } from 'pg';
import { FoldStock } from '../../libs/orders/src/stock/fold-stock';
import { insertOrders, insertProduct } from '../support/insert-orders';
import type { Posted } from '../support/ledger-provider';
import { relayAll } from '../support/relay-all';
import { startStopwatch } from '../support/stopwatch';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

/*
 * Somebody holds the row of one product, as a merchant's UPDATE does, or of one order: those who need
 * that row wait for it or are refused, and nobody else notices.
 */

const STRANGERS_WITHIN_MS = 1_500;
const REFUSED_WITHIN_MS = 3_000;
/** So long a placing waits for a product that somebody has. */
const PATIENCE_MS = 2_000;

let world: World;
let merchant: Client;
beforeAll(async () => {
  world = await openWorld();
  merchant = new Client({ connectionString: world.config.DATABASE_URL });
  await merchant.connect();
  for (const sku of ['A', 'B', 'C']) await insertProduct(world, sku);
}, 60_000);
afterAll(async () => {
  await merchant?.end();
  await world?.close();
});
afterEach(async () => {
  onFailpoint(undefined);
  await merchant.query('ROLLBACK');
  await world.get(FoldStock).runOnce();
  expect(await stock()).toEqual(await owed());
  await relayAll(world);
  const results = await runInvariants(world, { limitMs: 15_000, newest: 'all' });
  expect(results.filter(({ violations }) => violations > 0)).toEqual([]);
});

async function merchantUpdates(sku: string): Promise<void> {
  await merchant.query('BEGIN');
  await merchant.query('UPDATE products SET name = name WHERE sku = $1', [sku]);
}

const place = (items: Record<string, number>, customerId: string = randomUUID()) =>
  world.get(PlaceOrder).place({
    customerId,
    idempotencyKey: randomUUID(),
    items: Object.entries(items).map(([sku, quantity]) => ({ sku, quantity })),
  });

/** What the counters of each product say. */
const stock = () =>
  world.rows<{ sku: string; reserved: number; sold: number }>(
    'SELECT sku, reserved, sold FROM products ORDER BY sku',
  );

/** What they should say, by the orders. */
const owed = () =>
  world.rows<{ sku: string; reserved: number; sold: number }>(
    `SELECT p.sku,
            coalesce(sum(i.quantity) FILTER (WHERE o.status IN ('pending_payment', 'closing')), 0)::int
              AS reserved,
            coalesce(sum(i.quantity) FILTER (WHERE o.status IN ('paid', 'shipped', 'completed')), 0)::int
              AS sold
       FROM products p LEFT JOIN order_items i USING (sku) LEFT JOIN orders o ON o.id = i.order_id
      GROUP BY p.sku ORDER BY p.sku`,
  );

interface Answer {
  readonly tookMs: number;
  /** `done`, or the code of the refusal. */
  readonly outcome: string;
}

async function timed(work: Promise<unknown>): Promise<Answer> {
  const elapsedMs = startStopwatch();
  const outcome = await work.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof LastcallError) return error.code;
      throw error;
    },
  );
  return { outcome, tookMs: elapsedMs() };
}

const slowest = (answers: readonly Answer[]): number =>
  Math.max(...answers.map(({ tookMs }) => tookMs));

async function paidNotice(paymentId: string, late = false): Promise<Posted> {
  const posted = world.provider.pay(paymentId, new Date(Date.now() - 60_000), { late });
  if (!posted) throw new Error('The provider refused the payment');
  return posted;
}

const receive = ({ body, headers }: Posted): Promise<void> =>
  world.get(ReceiveWebhook).receive('sandbox', body, headers);

describe('while somebody holds the row of product B', () => {
  it('1,000 overdue orders of A close, and the one of B with them', async () => {
    await insertOrders(world, { count: 1_000, closesInMs: -10, sku: 'A' });
    await insertOrders(world, { count: 1, closesInMs: -20, sku: 'B' });
    await merchantUpdates('B');
    const tookMs = startStopwatch();
    const counts = await world.timeouts.runSweep();
    expect(counts).toMatchObject({ changed: 1_001, putBack: 0, failed: 0 });
    await world.get(FoldStock).runOnce();
    expect(tookMs()).toBeLessThan(STRANGERS_WITHIN_MS);
    const byNow = await stock();
    expect(byNow.map(({ sku, reserved }) => `${sku} ${reserved}`)).toEqual(['A 0', 'B 1', 'C 0']);
    await merchant.query('ROLLBACK');
    await world.get(FoldStock).runOnce();
    expect((await stock()).map(({ reserved }) => reserved)).toEqual([0, 0, 0]);
  });

  it('36 of 40 placings do not notice; the 4 that want B hear that it is busy', async () => {
    await merchantUpdates('B');
    const placing = Array.from({ length: 40 }, (_, i) =>
      timed(place(i % 10 === 3 ? { A: 1, B: 1 } : { A: 1, C: 2 })),
    );
    const answers = await Promise.all(placing);
    const wanting = answers.filter((_, i) => i % 10 === 3);
    const strangers = answers.filter((_, i) => i % 10 !== 3);
    expect(strangers.map(({ outcome }) => outcome)).toEqual(strangers.map(() => 'done'));
    expect(slowest(strangers)).toBeLessThan(STRANGERS_WITHIN_MS);
    expect(wanting.map(({ outcome }) => outcome)).toEqual(wanting.map(() => 'busy'));
    expect(slowest(wanting)).toBeLessThan(REFUSED_WITHIN_MS);
  });

  it('a placing that wants B is placed when B comes free in time', async () => {
    for (;;) {
      await merchantUpdates('B');
      const startedMs = performance.now();
      const wanting = timed(place({ B: 1 }));
      // It has looked once; strangers that come after it are placed before it.
      expect((await timed(place({ C: 1 }))).outcome).toBe('done');
      await merchant.query('ROLLBACK');
      const heldForMs = performance.now() - startedMs;
      const { outcome } = await wanting;
      // This machine has stood still for as long as anybody is kept waiting: once more.
      if (outcome === 'busy' && heldForMs > PATIENCE_MS) continue;
      expect(outcome).toBe('done');
      break;
    }
  });

  it('40 webhooks pay their orders, those of B with the others', async () => {
    const orders = [
      ...(await insertOrders(world, { count: 36, closesInMs: 60_000, sku: 'A', payment: 'open' })),
      ...(await insertOrders(world, { count: 4, closesInMs: 60_000, sku: 'B', payment: 'open' })),
    ];
    const notices: Posted[] = [];
    for (const { paymentId, amount } of orders) {
      world.provider.open({ paymentId: paymentId as string, amount, currency: 'EUR' });
      notices.push(await paidNotice(paymentId as string));
    }
    await merchantUpdates('B');
    const answers = await Promise.all(notices.map((notice) => timed(receive(notice))));
    expect(answers.map(({ outcome }) => outcome)).toEqual(answers.map(() => 'done'));
    expect(slowest(answers)).toBeLessThan(STRANGERS_WITHIN_MS);
    const [row] = await world.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM orders WHERE status = 'paid' AND id = ANY ($1::uuid[])`,
      [orders.map(({ id }) => id)],
    );
    expect(row?.n).toBe(40);
  });

  it('a late payment that revives an order of B waits its turn, and holds up no other', async () => {
    const settings = { closesInMs: -10, latePayment: 'revive', payment: 'failed' } as const;
    const orders = [
      ...(await insertOrders(world, { ...settings, count: 1, sku: 'B' })),
      ...(await insertOrders(world, { ...settings, count: 1, sku: 'A' })),
    ];
    await world.rows(
      `UPDATE orders SET closes_at = now() - interval '1 second' WHERE id = ANY ($1::uuid[])`,
      [orders.map(({ id }) => id)],
    );
    await world.timeouts.runSweep();
    const notices: Posted[] = [];
    for (const { paymentId, amount } of orders) {
      world.provider.open({ paymentId: paymentId as string, amount, currency: 'EUR' });
      notices.push(await paidNotice(paymentId as string, true));
    }
    await merchantUpdates('B');
    const answers = await Promise.all(notices.map((notice) => timed(receive(notice))));
    expect(answers.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
    expect(slowest(answers)).toBeLessThan(STRANGERS_WITHIN_MS);
    const statuses = () =>
      world.rows<{ status: string }>(
        `SELECT status FROM unnest($1::uuid[]) WITH ORDINALITY AS o (id, n) JOIN orders USING (id)
          ORDER BY n`,
        [orders.map(({ id }) => id)],
      );
    expect((await statuses()).map(({ status }) => status)).toEqual(['closed', 'paid']);
    await merchant.query('ROLLBACK');
    await until('the other one is revived', async () => {
      await world.timeouts.runSweep();
      return (await statuses())[0]?.status === 'paid';
    });
  });
});

describe('while somebody holds the row of an order', () => {
  it('199 webhooks pay their orders, and the one of that order waits alone', async () => {
    const settings = { count: 200, closesInMs: 60_000, sku: 'A', payment: 'open' } as const;
    const orders = await insertOrders(world, settings);
    const notices: Posted[] = [];
    for (const { paymentId, amount } of orders) {
      world.provider.open({ paymentId: paymentId as string, amount, currency: 'EUR' });
      notices.push(await paidNotice(paymentId as string));
    }
    const held = orders[77]?.id;
    await merchant.query('BEGIN');
    await merchant.query('UPDATE orders SET version = version WHERE id = $1', [held]);
    const answers = await Promise.all(notices.map((notice) => timed(receive(notice))));
    expect(answers.map(({ outcome }) => outcome)).toEqual(answers.map(() => 'done'));
    expect(slowest(answers)).toBeLessThan(STRANGERS_WITHIN_MS);
    const unpaid = async () =>
      (
        await world.rows<{ id: string }>(
          `SELECT id FROM orders WHERE status <> 'paid' AND id = ANY ($1::uuid[])`,
          [orders.map(({ id }) => id)],
        )
      ).map(({ id }) => id);
    expect(await unpaid()).toEqual([held]);
    await merchant.query('ROLLBACK');
    await until('it is paid, too', async () => {
      await world.timeouts.runSweep();
      return (await unpaid()).length === 0;
    });
  });
});

describe('while a closer waits for its commit', () => {
  it('the products of its batch are placed and paid', async () => {
    await insertOrders(world, { count: 50, closesInMs: -10, sku: 'A' });
    let goOn: () => void = () => undefined;
    const isHeld = new Promise<void>((held) =>
      onFailpoint((name) => {
        if (name !== 'close.changed') return;
        held();
        return new Promise<void>((resolve) => (goOn = resolve));
      }),
    );
    const closing = world.timeouts.runSweep();
    await isHeld;
    const placed = await timed(place({ A: 1 }));
    goOn();
    await closing;
    expect(placed.outcome).toBe('done');
    expect(placed.tookMs).toBeLessThan(STRANGERS_WITHIN_MS);
  });
});

describe('what has been released', () => {
  it('is sold again at once where it is the last one, folded or not', async () => {
    await insertProduct(world, 'LAST', 1);
    const first = await place({ LAST: 1 });
    await expect(place({ LAST: 1 })).rejects.toMatchObject({ code: 'out_of_stock' });
    await world.rows('UPDATE orders SET closes_at = now() WHERE id = $1', [first.order.id]);
    await world.rows('UPDATE deadlines SET due_at = now() WHERE subject_id = $1', [first.order.id]);
    await world.timeouts.runSweep();
    const second = await place({ LAST: 1 });
    expect(second.order.status).toBe('pending_payment');
    await expect(place({ LAST: 1 })).rejects.toMatchObject({ code: 'out_of_stock' });
  });

  it('is back within a second where a worker runs, whoever closed the order', async () => {
    const worker = await openWorld({ beside: world, ring: true });
    try {
      await insertOrders(world, { count: 100, closesInMs: -10, sku: 'C' });
      await world.timeouts.drainAll('timer');
      const tookMs = startStopwatch();
      await until('the stock is back', async () => {
        const rows = await world.rows('SELECT 1 FROM unfolded_stock_movements');
        return rows.length === 0;
      });
      expect(tookMs()).toBeLessThan(1_000);
    } finally {
      await worker.close();
    }
  });
});
