import { type Held, inTransaction, type Lock, NoopLock, Transaction } from '@app/timeout';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertOrders } from '../../../../test/support/insert-orders';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrder } from '../closing/cancel-order';
import { ForceCloseOrder } from '../closing/force-close-order';
import { runInvariants } from '../invariants/run-invariants';
import { OrderGuard } from './order-guard';
import { ReadOrder } from '../closing/read-order';
import { answerTo } from '../http/error-problem';

const CLOSE = {
  from: 'pending_payment',
  to: 'closed',
  by: 'timer',
  closeReason: 'payment_timeout',
} as const;

const LATER = { count: 1, closesInMs: 60_000 };

/** Six callers for each, on two pools of 20 connections. */
const ORDERS = 8;

/** The lock, under the test's hand. */
class HandLock implements Lock {
  outcome: Held['outcome'] = 'held';
  released = 0;
  waits = (): void => undefined;

  acquireFree = (keys: readonly string[]) => this.#hold(keys);
  acquireOne = (key: string) => this.#hold([key]);
  async close(): Promise<void> {}

  async #hold(keys: readonly string[]): Promise<Held> {
    this.waits();
    const mine = this.outcome === 'contended' ? [] : keys;
    return {
      keys: new Set(mine),
      outcome: this.outcome,
      release: async () => void (this.released += 1),
    };
  }
}

describe('OrderGuard', () => {
  const lock = new HandLock();
  let world: World;
  let guard: OrderGuard;
  beforeAll(async () => {
    world = await openWorld({ lock });
    guard = world.get(OrderGuard);
  });
  afterAll(() => world?.close());
  beforeEach(() => {
    lock.outcome = 'held';
    lock.released = 0;
    lock.waits = () => undefined;
  });
  afterEach(() => jest.restoreAllMocks());

  const order = async (closesInMs = 60_000): Promise<string> =>
    (await insertOrders(world, { count: 1, closesInMs }))[0]?.id as string;
  const close = (id: string, change: object = {}) =>
    guard.withOrder(id, (_, tx) => guard.change(tx, { ...CLOSE, ...change, orderIds: [id] }));

  it('gives instants in the order of the changes, also to a transaction that began before', async () => {
    const id = await order();
    const runner = await beginHeldOpen(world.dataSource);
    const early = new Transaction(runner);
    const [began] = await early.rows<{ now: Date }>('SELECT now()::timestamptz(3) AS now');
    await until('the clock has gone on', async () => {
      const [clock] = await world.rows<{ later: boolean }>(
        'SELECT now()::timestamptz(3) > $1 AS later',
        [began?.now],
      );
      return clock?.later;
    });
    await close(id, { to: 'paid', by: 'provider', closeReason: undefined });
    const ship = { from: 'paid', to: 'shipped', by: 'merchant', actor: 'mia' } as const;
    expect(await guard.change(early, { ...ship, orderIds: [id] })).toHaveLength(1);
    await runner.commitTransaction();
    await runner.release();
    const results = await runInvariants(world, { limitMs: 60_000, newest: 'all' });
    expect(results.find(({ name }) => name === 'timestamps_agree')?.violations).toBe(0);
    const history = await world.rows<{ at: Date }>(
      'SELECT at FROM order_events WHERE order_id = $1 ORDER BY version',
      [id],
    );
    const instants = history.map(({ at }) => at.getTime());
    expect(instants).toHaveLength(3);
    expect(instants).toEqual([...instants].sort((a, b) => a - b));
  });

  it('gives back stock under the transaction of each event, and some are older than their order', async () => {
    const before = [await order(), await order()];
    const runner = await beginHeldOpen(world.dataSource);
    const early = new Transaction(runner);
    await early.rows('SELECT pg_current_xact_id()');
    const orderIds = [...before, await order(), await order()];
    expect(await guard.change(early, { ...CLOSE, orderIds })).toHaveLength(4);
    await runner.commitTransaction();
    await runner.release();
    const moved = await world.rows<{ tx: string; sku: string; quantity: number }>(
      `SELECT tx::text, sku, quantity FROM unfolded_stock_movements WHERE tx IN (
         SELECT tx FROM order_events WHERE order_id = ANY ($1::uuid[]) AND to_status = 'closed')
        ORDER BY unfolded_stock_movements.tx`,
      [orderIds],
    );
    const owed = await world.rows<{ tx: string; sku: string; quantity: number }>(
      `SELECT e.tx::text, i.sku, sum(i.quantity)::int AS quantity
         FROM order_events e JOIN order_items i USING (order_id)
        WHERE e.order_id = ANY ($1::uuid[]) AND e.to_status = 'closed' GROUP BY e.tx, i.sku ORDER BY e.tx`,
      [orderIds],
    );
    expect(owed).toHaveLength(3);
    expect(moved).toEqual(owed);
  });

  it('appends what comes back in the order of the products, which are folded beside each other', async () => {
    const skus = Array.from({ length: 60 }, (_, n) => `${n % 2 ? 'p' : 'P'}-${(n * 37) % 60}`);
    const orders = [];
    for (const sku of skus) orders.push(...(await insertOrders(world, { ...LATER, sku })));
    const orderIds = orders.map(({ id }) => id);
    const changed = await inTransaction(world.dataSource, (tx) =>
      guard.change(tx, { ...CLOSE, orderIds }),
    );
    expect(changed).toHaveLength(skus.length);
    const moved = await world.rows<{ sku: string }>(
      `SELECT sku FROM unfolded_stock_movements WHERE sku = ANY ($1::text[]) ORDER BY id`,
      [skus],
    );
    expect(moved.map(({ sku }) => sku)).toEqual([...skus].sort());
  });

  it('changes an order once: the second finds it changed and changes nothing', async () => {
    const id = await order();
    expect(await close(id)).toHaveLength(1);
    expect(await close(id)).toEqual([]);
  });

  it('changes nothing for a timeout that is not due by the database’s clock', async () => {
    const id = await order();
    expect(await close(id, { onlyIfOverdue: true })).toEqual([]);
    expect(await close(await order(-500), { onlyIfOverdue: true })).toHaveLength(1);
  });

  it('refuses a change that the lifecycle does not know', async () => {
    const id = await order();
    await expect(close(id, { to: 'shipped' })).rejects.toThrow('no change from pending_payment');
  });

  it('rolls everything back when the work fails, and gives the lock back', async () => {
    const id = await order();
    const failing = guard.withOrder(id, async (_, tx) => {
      await guard.change(tx, { ...CLOSE, orderIds: [id] });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(lock.released).toBe(1);
    expect(await world.rows('SELECT status, version FROM orders WHERE id = $1', [id])).toEqual([
      { status: 'pending_payment', version: 1 },
    ]);
  });

  it('says that it is busy when somebody holds the order for too long', async () => {
    lock.outcome = 'contended';
    await expect(close(await order())).rejects.toMatchObject({ code: 'busy' });
  });

  it('goes on without the lock when its store is down, and counts it', async () => {
    lock.outcome = 'degraded';
    expect(await close(await order())).toHaveLength(1);
    expect(world.told).toContainEqual({ name: 'locked', args: ['degraded'] });
  });

  it('waits for the row no longer than for the rest of three seconds, once it has waited for the lock', async () => {
    const id = await order();
    const { now } = performance;
    lock.waits = () =>
      void jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 2_000);
    const limit = await guard.withOrder(id, (_, tx) =>
      tx.rows<{ ms: number }>(
        `SELECT setting::int AS ms FROM pg_settings WHERE name = 'lock_timeout'`,
      ),
    );
    expect(limit[0]?.ms).toBeLessThanOrEqual(700);
  });

  it('answers a reader at once whose overdue order is being changed', async () => {
    const id = await order(-1);
    lock.outcome = 'contended';
    expect(await world.get(ReadOrder).readOfAnyCustomer(id)).toMatchObject({
      status: 'pending_payment',
    });
  });
});

describe('OrderGuard without any lock', () => {
  let worlds: World[];
  beforeAll(async () => {
    const first = await openWorld({ lock: new NoopLock() });
    worlds = [first, await openWorld({ lock: new NoopLock(), beside: first })];
  });
  afterAll(async () => {
    for (const world of [...(worlds ?? [])].reverse()) await world.close();
  });

  it('lets one of many win each order', async () => {
    const [world] = worlds as [World, World];
    const orders = await insertOrders(world, { count: ORDERS, closesInMs: -1 });
    const operator = { actor: 'olga', reason: 'test' };
    const attempts = worlds.flatMap((one) => [
      one.timeouts.runSweep(),
      one.timeouts.drainAll('timer'),
      ...orders.flatMap(({ id }) => [
        one.get(ReadOrder).readOfAnyCustomer(id),
        one.get(CancelOrder).cancel(id, 'ann'),
        one.get(ForceCloseOrder).forceClose(id, operator),
      ]),
    ]);
    const settled = await Promise.allSettled(attempts);
    for (const one of settled) {
      if (one.status === 'fulfilled') continue;
      // On a busy machine one may wait too long for the row; that has changed nothing either.
      expect(answerTo(one.reason).problem.code).toMatch(/^(order_not_\w+|busy|unavailable)$/);
    }
    const exits = await world.rows(
      `SELECT order_id FROM order_events WHERE from_status = 'pending_payment'`,
    );
    expect(exits).toHaveLength(ORDERS);
    const results = await runInvariants(world, { limitMs: 3_600_000, newest: 'all' });
    expect(results.filter(({ violations }) => violations > 0)).toEqual([]);
  });
});
