import { historyIsOver } from '../../../../test/support/history-is-over';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { ForceCloseOrder } from '../closing/force-close-order';
import { DigestHistory } from '../events/digest-history';
import { Overview } from './overview';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

it('tells of all closes of the last hour, whatever has happened since, and how far it has counted', async () => {
  const overdue = await insertOrders(world, { count: 300, closesInMs: -60_000 });
  const [asked] = await insertOrders(world, { count: 1, closesInMs: 600_000 });
  await world.timeouts.runSweep();
  await world.get(ForceCloseOrder).forceClose(asked?.id ?? '', { actor: 'olga', reason: 'asked' });
  // However long this machine took to close them.
  await world.rows(
    `UPDATE orders SET closes_at = closed_at - interval '1 minute' WHERE id = ANY ($1::uuid[])`,
    [overdue.map(({ id }) => id)],
  );
  // Far more events than a look may read.
  for (let n = 0; n < 5; n++) await insertOrders(world, { count: 5_000, closesInMs: 600_000 });
  await historyIsOver(world);
  const read = () => world.get(Overview).read();
  const [{ at }] = (await world.rows(
    `SELECT to_char(min(at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at FROM order_events`,
  )) as [{ at: string }];
  const before = await read();
  expect(before.closedBy).toEqual({});
  expect(before.closesCountedTo).toEqual(at);
  const digest = world.get(DigestHistory);
  while ((await digest.runOnce()).windows > 0);
  const [{ asOf }] = (await world.rows(`SELECT now() - interval '1 ms' AS "asOf"`)) as [
    { asOf: Date },
  ];
  const { lag, closedBy, closesCountedTo } = await read();
  expect(closedBy).toEqual({ sweep: overdue.length, operator: 1 });
  for (const lagMs of [lag.p50Ms, lag.p99Ms, lag.maxMs]) {
    expect(Math.abs(lagMs - 60_000)).toBeLessThan(8_000);
  }
  const [{ isNow }] = (await world.rows(
    `SELECT $1::timestamptz >= $2 AND $1 > max(at) AS "isNow" FROM order_events`,
    [closesCountedTo, asOf],
  )) as [{ isNow: boolean }];
  expect(isNow).toBe(true);
  await world.rows(`UPDATE close_lags SET minute = minute - interval '60 minutes'`);
  const later = await read();
  expect(later.closedBy).toEqual({});
  expect(later.lag).toMatchObject({ p50Ms: 0, p99Ms: 0, maxMs: 0 });
}, 60_000);
