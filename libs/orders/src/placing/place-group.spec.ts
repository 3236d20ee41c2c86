import { randomUUID } from 'node:crypto';
import { atLeisure } from '../../../../test/support/at-leisure';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { PLACING_TURN } from '../order/advisory-locks';
import { LastcallError } from '../order/errors';
import { PlaceOrder } from './place-order';

/** Two groups at least: the first request goes alone, all others are taken together behind it. */
const GROUP = 200;

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await insertProduct(world, 'TEA', 10_000);
  await insertProduct(world, 'LAST', 1);
  // A customer whose orders the database refuses, as a bug of ours or a constraint might.
  await world.rows(`ALTER TABLE orders ADD CONSTRAINT poison CHECK (customer_id <> 'poisoned')`);
});
afterAll(() => world?.close());

const place = (sku: string, customerId: string = randomUUID(), key: string = randomUUID()) =>
  world.get(PlaceOrder).place({ customerId, idempotencyKey: key, items: [{ sku, quantity: 1 }] });

const groupsOf = async (ids: readonly string[]): Promise<number> => {
  const [row] = await world.rows<{ n: string }>(
    'SELECT count(DISTINCT tx) AS n FROM order_events WHERE order_id = ANY ($1::uuid[])',
    [ids],
  );
  return Number(row?.n);
};

const stockOf = async (sku: string) => {
  const [row] = await world.rows<{ available: number; reserved: number }>(
    'SELECT available, reserved FROM products WHERE sku = $1',
    [sku],
  );
  return row;
};

describe('a group of orders', () => {
  it('is one transaction for many', async () => {
    const placed = await Promise.all(Array.from({ length: GROUP }, () => place('TEA')));
    expect(await groupsOf(placed.map(({ order }) => order.id))).toBeLessThanOrEqual(4);
  });

  it('fails a poisoned one alone, too, where a turn was waited for in vain', async () => {
    const other = await beginHeldOpen(world.dataSource);
    await other.query(`SELECT pg_advisory_xact_lock(${PLACING_TURN})`);
    try {
      const all = await Promise.allSettled([place('TEA'), place('TEA', 'poisoned'), place('TEA')]);
      expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    } finally {
      await other.rollbackTransaction();
      await other.release();
    }
  });

  it('of 200 places 199 when one is poisoned, and fails that one alone', async () => {
    const before = await stockOf('TEA');
    const placing = () =>
      Array.from({ length: GROUP }, (_, i) => place('TEA', i === 77 ? 'poisoned' : undefined));
    // Its parts are tried for a second, which is little for a busy machine.
    const settled = await atLeisure(() => Promise.allSettled(placing()));
    const failed = settled.flatMap((one, i) => (one.status === 'rejected' ? [i] : []));
    expect(failed).toEqual([77]);
    const after = await stockOf('TEA');
    expect((after?.reserved ?? 0) - (before?.reserved ?? 0)).toBe(GROUP - 1);
    expect(
      await world.rows(`SELECT 1 FROM idempotency_keys WHERE customer_id = 'poisoned'`),
    ).toEqual([]);
  });

  it('gives the last piece to one of fifty who want it, and refuses the others', async () => {
    const settled = await Promise.allSettled(Array.from({ length: 50 }, () => place('LAST')));
    const won = settled.filter(({ status }) => status === 'fulfilled');
    const codes = settled.flatMap((one) =>
      one.status === 'rejected' ? [(one.reason as LastcallError).code] : [],
    );
    expect(won).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['out_of_stock']));
    expect(await stockOf('LAST')).toEqual({ available: 0, reserved: 1 });
  });

  it('answers one key that comes twice at once with one order', async () => {
    const [customer, key] = [randomUUID(), randomUUID()];
    const crowd = Array.from({ length: 50 }, () => place('TEA'));
    const [first, second] = await Promise.all([
      place('TEA', customer, key),
      place('TEA', customer, key),
    ]);
    await Promise.all(crowd);
    expect(second.order.id).toBe(first.order.id);
    expect([first.replayed, second.replayed]).toEqual([false, true]);
  });

  it('whose answers never arrived is found again by its keys, at another process', async () => {
    const requests = Array.from({ length: 20 }, () => [randomUUID(), randomUUID()] as const);
    const dying = await openWorld({ beside: world });
    const placing = requests.map(([customer, key]) =>
      dying
        .get(PlaceOrder)
        .place({ customerId: customer, idempotencyKey: key, items: [{ sku: 'TEA', quantity: 1 }] }),
    );
    // Committed, and nobody has heard of it.
    await Promise.all(placing);
    await dying.close();
    const again = await Promise.all(requests.map(([customer, key]) => place('TEA', customer, key)));
    expect(again.every(({ replayed }) => replayed)).toBe(true);
    const ids = (await Promise.all(placing)).map(({ order }) => order.id);
    expect(again.map(({ order }) => order.id)).toEqual(ids);
  });

  it('answers as reading the order would', async () => {
    const { order } = await place('TEA', 'reader', 'the-key');
    const { order: read } = await place('TEA', 'reader', 'the-key');
    expect({ ...order, serverNow: null }).toEqual({ ...read, serverNow: null });
  });
});
