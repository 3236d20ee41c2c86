import { queryRows } from '@app/timeout';
import type { QueryRunner } from 'typeorm';
import { HandDriver } from '../../libs/timeout/src/testing/hand-driver';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

/* One process serves customers, rings and sweeps; its customers wait, and have all of its connections. */

const API_CONNECTIONS = 16;

let world: World;
let driver: HandDriver;
const taken: QueryRunner[] = [];
beforeAll(async () => {
  driver = new HandDriver();
  world = await openWorld({ ring: true, driver, settings: { SWEEP_INTERVAL: '1s' } });
  await insertProduct(world, 'A');
});
afterAll(async () => {
  await Promise.all(taken.map((runner) => runner.release()));
  await world?.close();
});

const rows = <Row>(sql: string) => queryRows<Row>(world.drainDataSource, sql);
/** As it says itself after each sweep. */
const lastSweep = () =>
  until('it has swept', async () => {
    const sql = 'SELECT swept_at AS at, timer_store_healthy AS healthy FROM workers';
    return (await rows<{ at: Date; healthy: boolean }>(sql))[0];
  });

it('goes on to arm, to sweep, and to tell that it does', async () => {
  await insertOrders(world, { count: 1, closesInMs: 60_000, sku: 'A' });
  for (let n = 0; n < API_CONNECTIONS; n++) {
    const runner = world.dataSource.createQueryRunner();
    taken.push(runner);
    await runner.connect();
  }
  world.timeouts.alarms.forget();
  driver.armed.length = 0;
  const { at: before } = await lastSweep();
  await until('it has swept twice more', async () => {
    const { at, healthy } = await lastSweep();
    expect(healthy).toBe(true);
    return at.getTime() - before.getTime() > 2_000;
  });
  const closesAt = Number(
    (await rows<{ ms: string }>(`SELECT extract(epoch FROM closes_at) * 1000 AS ms FROM orders`))[0]
      ?.ms,
  );
  // As its slot begins.
  const armedMs = driver.armed.map(({ at }) => closesAt - at.getTime());
  expect(armedMs.some((ms) => ms > 0 && ms <= 100)).toBe(true);
});
