import { Client } from 'pg';
import { type Lock, NoopLock, RedlockLock, type Transaction } from '@app/timeout';
import { testServers } from '../support/database';
import { insertOrders } from '../support/insert-orders';
import { untilLocksAreWaitedFor } from '../support/lock-waits';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';
import { OrderGuard } from '../../libs/orders/src/order/order-guard';

/*
 * Batches are handled by the ids of their orders alone where all of them go the same way. Here a few of
 * a thousand do not.
 */

let world: World;
let neighbour: Client;
/** A neighbour's transaction sees who waits as it was when it first looked. */
let watcher: Client;
const lockErrors: Error[] = [];
const others: World[] = [];
beforeAll(async () => {
  world = await openWorld({ lock: keepingOthersAway() });
  const connectionString = world.config.DATABASE_URL;
  [neighbour, watcher] = [new Client({ connectionString }), new Client({ connectionString })];
  await Promise.all([neighbour.connect(), watcher.connect()]);
}, 60_000);
afterAll(async () => {
  await Promise.all([neighbour?.end(), watcher?.end()]);
  await world?.close();
  expect(lockErrors).toEqual([]);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await neighbour.query('ROLLBACK');
  await Promise.all(others.splice(0).map((other) => other.close()));
  await world.rows('TRUNCATE orders, deadlines CASCADE');
});

/** Batches may wait for a row where they have such a lock. */
const keepingOthersAway = (): Lock =>
  new RedlockLock({
    redis: testServers().redisUrl,
    onError: (error) => lockErrors.push(error),
    // A machine that stands still is no Redis that is away.
    callTimeoutMs: 10_000,
    ttlMs: 20_000,
  });
/** Another process of the shop, which has met nobody yet. */
async function beside(lock = keepingOthersAway()): Promise<World> {
  const other = await openWorld({ beside: world, lock });
  others.push(other);
  return other;
}
const statuses = async (ids: readonly string[]): Promise<string[]> => {
  const rows = await world.rows<{ id: string; status: string }>(
    'SELECT id, status FROM orders WHERE id = ANY ($1::uuid[])',
    [ids],
  );
  return ids.map((id) => rows.find((row) => row.id === id)?.status ?? 'gone');
};
type Change = Parameters<OrderGuard['changeMany']>[1];
/** Something is done before each of a batch's updates. */
function first(work: (tx: Transaction, change: Change) => Promise<unknown>): void {
  const { changeMany } = OrderGuard.prototype;
  const change = async function (this: OrderGuard, tx: Transaction, wanted: Change) {
    await work(tx, wanted);
    return changeMany.call(this, tx, wanted);
  };
  jest.spyOn(OrderGuard.prototype, 'changeMany').mockImplementation(change);
}
/** Before those that wait for rows. */
const waitingFirst = (work: (tx: Transaction) => Promise<unknown>): void =>
  first(async (tx, { onlyIfNoPayments }) => (onlyIfNoPayments ? work(tx) : undefined));
/** Batches wait for a row until a watcher has seen it, however slow the machine is. */
const forLong = (tx: Transaction): Promise<unknown> =>
  tx.rows(
    `SELECT set_config('lock_timeout', '20s', true), set_config('statement_timeout', '20s', true)`,
  );
const overdue = async (count: number, payment?: 'open'): Promise<string[]> => {
  const orders = await insertOrders(world, {
    ...{ count, closesInMs: -1_000 },
    ...(payment ? { payment } : {}),
  });
  return orders.map(({ id }) => id);
};

describe('of a thousand overdue orders', () => {
  it('each is told of, with how late it was', async () => {
    await overdue(600);
    await insertOrders(world, { count: 400, closesInMs: -31_000 });
    const before = world.told.length;
    await world.timeouts.runSweep();
    const told = world.told.slice(before).filter(({ name }) => name === 'closed');
    expect(new Set(told.map(({ args: [by] }) => by))).toEqual(new Set(['sweep']));
    const lags = await world.rows<{ ms: string }>(
      'SELECT extract(epoch FROM closed_at - closes_at) * 1000 AS ms FROM orders ORDER BY ms',
    );
    expect(lags).toHaveLength(1_000);
    const lagsMs = told.map(({ args: [, lagMs] }) => lagMs as number);
    expect(lagsMs.sort((a, b) => a - b)).toEqual(lags.map(({ ms }) => Number(ms)));
  });

  it('one whose row somebody holds is passed over, and closes when it is free', async () => {
    const ids = await overdue(1_000);
    const [held] = ids.splice(500, 1) as [string];
    await neighbour.query('BEGIN');
    await neighbour.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [held]);
    const before = world.told.length;
    const { changed, putBack, lost } = await world.timeouts.runSweep();
    // It is due again in a moment, so that a slow sweep may meet it twice.
    expect([changed, putBack > 0, lost]).toEqual([999, true, 0]);
    // Nobody has waited for it: the batch did not fail by it, and was not handled again in pieces.
    expect(world.told.slice(before).filter(({ name }) => name === 'batchFailed')).toEqual([]);
    expect(new Set(await statuses(ids))).toEqual(new Set(['closed']));
    expect(await statuses([held])).toEqual(['pending_payment']);
    await neighbour.query('ROLLBACK');
    await until('the order whose row is free has closed', async () => {
      await world.timeouts.runSweep();
      return (await statuses([held]))[0] === 'closed';
    });
  });

  it('is waited for once in a while, though each batch meets it', async () => {
    const other = await beside();
    const closing = jest.spyOn(OrderGuard.prototype, 'changeMany');
    const waiting = (): number =>
      closing.mock.calls.filter(([, { onlyIfNoPayments }]) => onlyIfNoPayments).length;
    await overdue(10);
    await other.timeouts.runSweep();
    expect(waiting()).toBeGreaterThan(0);
    const [held] = (await overdue(10)) as [string];
    await neighbour.query('BEGIN');
    await neighbour.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [held]);
    await other.timeouts.runSweep();
    closing.mockClear();
    const more = await overdue(10);
    await other.timeouts.runSweep();
    expect([waiting(), closing.mock.calls.length > 0]).toEqual([0, true]);
    expect(new Set(await statuses(more))).toEqual(new Set(['closed']));
  });

  it('is waited for some milliseconds, and all such rows together no longer than a second', async () => {
    const other = await beside();
    const limits: unknown[] = [];
    // After what the batch has sent, and before its update.
    first(async (tx) => {
      const [row] = await tx.rows(
        `SELECT current_setting('lock_timeout') AS row, current_setting('statement_timeout') AS all`,
      );
      limits.push(row);
    });
    const ids = await overdue(10);
    await overdue(1, 'open');
    await other.timeouts.runSweep();
    // What follows in the transaction has the limits that it had before.
    expect(limits.slice(0, 2)).toEqual([
      { row: '10ms', all: '1s' },
      { row: '250ms', all: '15s' },
    ]);
    expect(new Set(await statuses(ids))).toEqual(new Set(['closed']));
  });

  it('is passed over where the update has taken too long, and no batch tries again so soon', async () => {
    const other = await beside();
    let tries = 0;
    waitingFirst(async (tx) => {
      tries += 1;
      await tx.rows(`SET LOCAL statement_timeout = 20`);
      await tx.rows('SELECT pg_sleep(60)');
    });
    const [unpaid, paying] = [await overdue(10), await overdue(1, 'open')];
    const before = world.told.length;
    expect(await other.timeouts.runSweep()).toMatchObject({ failed: 0, lost: 0 });
    const more = await overdue(10);
    await other.timeouts.runSweep();
    expect(tries).toBe(1);
    expect(new Set(await statuses([...unpaid, ...more]))).toEqual(new Set(['closed']));
    expect(await statuses(paying)).not.toEqual(['pending_payment']);
    expect(world.told.slice(before).filter(({ name }) => name === 'batchFailed')).toEqual([]);
  });

  it('is not waited for where no lock keeps others away', async () => {
    const other = await beside(new NoopLock());
    const closing = jest.spyOn(OrderGuard.prototype, 'changeMany');
    const ids = await overdue(100);
    await other.timeouts.runSweep();
    expect(new Set(await statuses(ids))).toEqual(new Set(['closed']));
    const waiting = closing.mock.calls.filter(([, { onlyIfNoPayments }]) => onlyIfNoPayments);
    expect([closing.mock.calls.length > 0, waiting]).toEqual([true, []]);
  });

  it('one that somebody begins to pay while the batch waits for it is not closed', async () => {
    const other = await beside();
    const [order] = await insertOrders(world, { count: 1, closesInMs: -1_000 });
    const id = order?.id as string;
    // Past the guard, whose lock would keep the batch away.
    await neighbour.query('BEGIN');
    await neighbour.query('SELECT FROM orders WHERE id = $1 FOR NO KEY UPDATE', [id]);
    await neighbour.query(
      `INSERT INTO payments (id, order_id, provider, amount, currency, expires_at)
       VALUES (gen_random_uuid(), $1, 'sandbox', $2, 'EUR', now())`,
      [id, order?.amount],
    );
    waitingFirst(forLong);
    const sweeping = other.timeouts.runSweep();
    await untilLocksAreWaitedFor(watcher, 1);
    await neighbour.query('COMMIT');
    await sweeping;
    await until('it is behind the fence', async () => {
      await other.timeouts.runSweep();
      const rows = await world.rows<{ told: string }>(
        'SELECT to_status AS told FROM order_events WHERE order_id = $1 ORDER BY version',
        [id],
      );
      return rows
        .map(({ told }) => told)
        .join(' ')
        .startsWith('pending_payment closing');
    });
  });

  it('one whose customer got more time stays, and its deadline is lost', async () => {
    const ids = await overdue(1_000);
    const [later] = ids.splice(500, 1) as [string];
    await world.rows(
      `UPDATE orders SET closes_at = now() + interval '1 hour', version = version + 1
        WHERE id = $1`,
      [later],
    );
    expect(await world.timeouts.runSweep()).toMatchObject({ changed: 999, putBack: 0, lost: 1 });
    expect(new Set(await statuses(ids))).toEqual(new Set(['closed']));
    expect(await statuses([later])).toEqual(['pending_payment']);
  });

  it('one with a payment open at the provider goes behind the fence', async () => {
    const ids = await overdue(999);
    const [paying] = (await overdue(1, 'open')) as [string];
    expect(await world.timeouts.runSweep()).toMatchObject({ putBack: 0, lost: 0, failed: 0 });
    expect(new Set(await statuses(ids))).toEqual(new Set(['closed']));
    const [history] = await world.rows<{ told: string }>(
      `SELECT string_agg(to_status, ' ' ORDER BY version) AS told FROM order_events WHERE order_id = $1`,
      [paying],
    );
    expect(history?.told).toMatch(/pending_payment closing/);
  });
});
