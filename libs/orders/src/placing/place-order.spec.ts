import { randomUUID } from 'node:crypto';
import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { answerTo } from '../http/error-problem';
import { LastcallError } from '../order/errors';
import { runInvariants } from '../invariants/run-invariants';
import type { OrderView } from '../order/order';
import { PlaceOrder } from './place-order';

interface Placed {
  readonly order: OrderView;
  readonly replayed: boolean;
}

let world: World;
beforeAll(async () => {
  world = await openWorld({ settings: { MAX_OPEN_ORDERS: '5' } });
  for (const sku of ['TEA', 'POT', 'CUP']) await insertProduct(world, sku);
  await insertProduct(world, 'RARE', 3);
  await insertProduct(world, 'FREE', 100);
  await world.rows(`UPDATE products SET unit_price = 0 WHERE sku = 'FREE'`);
  await insertProduct(world, 'YEN');
  await world.rows(`UPDATE products SET currency = 'JPY' WHERE sku = 'YEN'`);
});
afterAll(() => world?.close());
afterEach(async () => {
  // Nothing sweeps or relays here: what waits for that is as old as this file has run.
  const results = await runInvariants(world, { limitMs: 3_600_000, newest: 'all' });
  expect(results.filter(({ violations }) => violations > 0)).toEqual([]);
});

const place = (
  items: Record<string, number>,
  { customerId = randomUUID(), idempotencyKey = String(randomUUID()), at = world } = {},
): Promise<Placed> =>
  at.get(PlaceOrder).place({
    customerId,
    idempotencyKey,
    items: Object.entries(items).map(([sku, quantity]) => ({ sku, quantity })),
  });

/** As clients do: who waited too long for a product that the other process has is told, and comes again. */
const patiently = (placing: () => Promise<Placed>): Promise<Placed> =>
  placing().catch((error: unknown) => {
    if (answerTo(error).problem.code === 'busy') return patiently(placing);
    throw error;
  });

async function outcomes(placing: readonly Promise<Placed>[]): Promise<(string | OrderView)[]> {
  const settled = await Promise.allSettled(placing);
  return settled.map((one) => {
    if (one.status === 'fulfilled') return one.value.order;
    if (one.reason instanceof LastcallError) return one.reason.code;
    throw one.reason;
  });
}

const count = (all: readonly (string | OrderView)[], code: string) =>
  all.filter((one) => one === code).length;

describe('PlaceOrder', () => {
  it('prices on the server, reserves the stock and sets the deadline', async () => {
    const { order, replayed } = await place({ TEA: 2, POT: 1 });
    expect(replayed).toBe(false);
    expect(order).toMatchObject({ status: 'pending_payment', amount: 1_500, version: 1 });
    const [payBy, closesAt] = [order.payBy, order.closesAt].map((at) => Date.parse(at as string));
    const created = Date.parse(order.createdAt);
    expect([payBy, closesAt]).toEqual([created + 600_000, created + 660_000]);
    expect(
      await world.rows('SELECT kind, due_at FROM deadlines WHERE subject_id = $1', [order.id]),
    ).toEqual([{ kind: 'payment', due_at: new Date(closesAt as number) }]);
  });

  it('keeps the deadline of a long window where rings and sweeps do not look', async () => {
    const settings = { PAYMENT_WINDOW: '2h' };
    const patientShop = await openWorld({ beside: world, settings });
    try {
      const { order } = await place({ TEA: 1 }, { at: patientShop });
      const isFar = (id: string) =>
        world.rows('SELECT far FROM deadlines WHERE subject_id = $1', [id]);
      expect(await isFar(order.id)).toEqual([{ far: true }]);
      expect(await isFar((await place({ TEA: 1 })).order.id)).toEqual([{ far: false }]);
    } finally {
      await patientShop.close();
    }
  });

  it('answers a repeated key with the same order, however the lines are written', async () => {
    const who = { customerId: randomUUID(), idempotencyKey: 'k' };
    const { order } = await place({ TEA: 1, POT: 2 }, who);
    expect(await place({ POT: 2, TEA: 1 }, who)).toMatchObject({
      order: { id: order.id },
      replayed: true,
    });
    await expect(place({ TEA: 2 }, who)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    // Somebody else's key is another key.
    const other = await place({ TEA: 1 }, { ...who, customerId: randomUUID() });
    expect(other.order.id).not.toBe(order.id);
  });

  it('places once when the same key comes fifty times at once, at two processes', async () => {
    const beside = await openWorld({ beside: world, settings: { MAX_OPEN_ORDERS: '5' } });
    const who = { customerId: randomUUID(), idempotencyKey: 'k' };
    const command = { ...who, items: [{ sku: 'TEA', quantity: 1 }] };
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        patiently(() => (i % 2 ? world : beside).get(PlaceOrder).place(command)),
      ),
    );
    await beside.close();
    expect(new Set(all.map(({ order }) => order.id)).size).toBe(1);
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
  });

  it('holds the cap of open orders exactly, at two processes at once', async () => {
    const beside = await openWorld({ beside: world, settings: { MAX_OPEN_ORDERS: '5' } });
    const customerId = randomUUID();
    const all = await outcomes(
      Array.from({ length: 30 }, (_, i) =>
        patiently(() =>
          (i % 2 ? world : beside).get(PlaceOrder).place({
            customerId,
            idempotencyKey: `k${i}`,
            items: [{ sku: 'TEA', quantity: 1 }],
          }),
        ),
      ),
    );
    await beside.close();
    expect(count(all, 'too_many_open_orders')).toBe(25);
    const rows = await world.rows('SELECT 1 FROM orders WHERE customer_id = $1', [customerId]);
    expect(rows).toHaveLength(5);
  });

  it('never sells more than there is, and refuses only those it cannot fill', async () => {
    const all = await outcomes([
      ...Array.from({ length: 10 }, () => place({ RARE: 1 })),
      ...Array.from({ length: 10 }, () => place({ CUP: 1 })),
    ]);
    expect(count(all, 'out_of_stock')).toBe(7);
    expect(all.slice(10).every((one) => typeof one === 'object')).toBe(true);
    expect(await world.rows(`SELECT available, reserved FROM products WHERE sku = 'RARE'`)).toEqual(
      [{ available: 0, reserved: 3 }],
    );
  });

  it('takes all lines of an order or none', async () => {
    const before = await world.rows('SELECT * FROM products ORDER BY sku');
    await expect(place({ TEA: 1, RARE: 1 })).rejects.toMatchObject({ code: 'out_of_stock' });
    await expect(place({ TEA: 1, NONE: 1 })).rejects.toMatchObject({ code: 'unknown_sku' });
    await expect(place({ TEA: 1, YEN: 1 })).rejects.toMatchObject({ code: 'mixed_currencies' });
    expect(await world.rows('SELECT * FROM products ORDER BY sku')).toEqual(before);
  });

  it('does not let a refused order keep its key', async () => {
    const who = { customerId: randomUUID(), idempotencyKey: 'k' };
    await expect(place({ NONE: 1 }, who)).rejects.toMatchObject({ code: 'unknown_sku' });
    expect(await place({ TEA: 1 }, who)).toMatchObject({ replayed: false });
  });

  it('pays at once what costs nothing', async () => {
    const customerId = randomUUID();
    const free = await Promise.all(
      Array.from({ length: 5 }, () =>
        place({ FREE: 1 }, { customerId, idempotencyKey: randomUUID() }),
      ),
    );
    expect(free.map(({ order }) => order.status)).toEqual(free.map(() => 'paid'));
    expect(free[0]?.order).toMatchObject({ amount: 0, version: 2, payments: [] });
  });

  it('counts both changes of a free order', async () => {
    const before = world.told.length;
    await place({ FREE: 1 });
    const counted = world.told.slice(before).filter(({ name }) => name === 'transitions');
    expect(counted.map(({ args }) => args)).toEqual([
      ['none', 'pending_payment', 'customer', 1],
      ['pending_payment', 'paid', 'system', 1],
    ]);
  });

  it('gives each of a mixed crowd its own answer', async () => {
    const all = await outcomes(
      Array.from({ length: 60 }, (_, i) =>
        place([{ TEA: 1 }, { NONE: 1 }, { RARE: 1 }, { FREE: 1 }][i % 4] as Record<string, number>),
      ),
    );
    expect(count(all, 'unknown_sku')).toBe(15);
    expect(count(all, 'out_of_stock')).toBe(15);
    const placed = all.filter((one): one is OrderView => typeof one === 'object');
    expect(placed.filter(({ status }) => status === 'paid')).toHaveLength(15);
    expect(placed.filter(({ status }) => status === 'pending_payment')).toHaveLength(15);
  });
});
