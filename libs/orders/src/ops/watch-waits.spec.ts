import { holdMoney } from '../../../../test/support/hold-money';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { hostSetUp } from '../host-options';
import { WatchWaits } from './watch-waits';

let world: World;
beforeEach(async () => {
  world = await openWorld();
  const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000, payment: 'failed' });
  await holdMoney(world, order?.paymentId, 500, 'overpaid');
});
afterEach(() => world?.close());

it('leaves what a newer version has told of to that one', async () => {
  await world.rows(`INSERT INTO waits_told (what, subject_id) VALUES ('of_tomorrow', $1)`, [
    '00000000-0000-7000-8000-000000000001',
  ]);
  await world.get(WatchWaits).runOnce();
  expect(await world.rows(`SELECT what FROM waits_told WHERE what = 'of_tomorrow'`)).toHaveLength(
    1,
  );
});

describe.each([
  [
    'throws',
    (error: Error) => {
      throw error;
    },
  ],
  ['rejects', (error: Error) => Promise.reject(error)],
])("where a host's alert %s", (_, fail) => {
  it('gives it again with the next turn, and once when it was given', async () => {
    let isDown = true;
    const given: unknown[] = [];
    const alert = (what: string, fields: object): unknown =>
      isDown ? fail(new Error('the pager is down')) : given.push([what, fields]);
    const { tell } = hostSetUp({
      postgres: { url: world.config.DATABASE_URL },
      payments: [world.provider],
      telemetry: { failed: () => undefined, alert },
    });
    if (!tell) throw new Error('A host that gives telemetry is told by it');
    const watching = new WatchWaits(world.dataSource, tell);
    await expect(watching.runOnce()).rejects.toThrow('the pager is down');
    expect(await world.rows('SELECT FROM waits_told')).toEqual([]);
    isDown = false;
    expect(await watching.runOnce()).toEqual({ told: 1 });
    expect(await watching.runOnce()).toEqual({ told: 0 });
    expect(given).toMatchObject([['waits_too_long', { what: 'payment_on_hold', count: 1 }]]);
  });
});
