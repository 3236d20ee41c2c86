import { historyIsOver } from '../../../../test/support/history-is-over';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { ForceCloseOrder } from '../closing/force-close-order';
import { readCloseFigures } from '../ops/close-figures';
import { DigestHistory } from './digest-history';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

it('counts each close once, by its cause and lag, and finds what operators did', async () => {
  const late = await insertOrders(world, { count: 100, closesInMs: -1 });
  const [closed] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
  await insertOrders(world, { count: 1, closesInMs: 60_000 });
  await world.timeouts.runSweep();
  const id = closed?.id as string;
  await world.get(ForceCloseOrder).forceClose(id, { actor: 'olga', reason: 'asked for it' });
  // Ninety-eight a second late, and two a minute.
  await world.rows(
    `UPDATE orders SET closes_at = closed_at - CASE WHEN id = ANY ($1::uuid[])
       THEN interval '1 minute' ELSE interval '1 second' END WHERE id = ANY ($2::uuid[])`,
    [late.slice(0, 2).map((order) => order.id), late.map((order) => order.id)],
  );
  await historyIsOver(world);
  const digest = world.get(DigestHistory);
  expect((await digest.runOnce(undefined, 30)).windows).toBeGreaterThan(3);
  expect(await digest.runOnce()).toEqual({ windows: 0 });
  const { hour, day, byMinute } = await readCloseFigures(world);
  expect(day).toEqual(hour);
  expect(byMinute.reduce((sum, one) => sum + one, 0)).toBe(101);
  expect(hour).toEqual([
    { by: 'operator', closes: 1, p50Ms: null, p99Ms: null },
    { by: 'sweep', closes: 100, p50Ms: expect.any(Number), p99Ms: expect.any(Number) },
  ]);
  const [, { p50Ms, p99Ms }] = hour as unknown as [unknown, { p50Ms: number; p99Ms: number }];
  expect(Math.abs(p50Ms - 1_000)).toBeLessThan(100);
  expect(Math.abs(p99Ms - 60_000)).toBeLessThan(6_000);
  expect(await world.rows('SELECT order_id, version FROM operator_events')).toEqual([
    { order_id: id, version: 2 },
  ]);
});

it('forgets what the console no longer looks back to', async () => {
  await world.rows(`UPDATE close_lags SET minute = minute - interval '3 days'`);
  await insertOrders(world, { count: 1, closesInMs: 60_000 });
  await historyIsOver(world);
  await world.get(DigestHistory).runOnce();
  expect(await world.rows('SELECT 1 FROM close_lags')).toEqual([]);
});
