import { beginHeldOpen } from '../../../../test/support/held-open';
import { openWorld, type World } from '../../../../test/support/world';
import { FORGET_DELIVERIES } from './forget-deliveries';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** So many, of another order each, that ended so many days ago. */
const insert = (count: number, status: 'delivered' | 'dead', daysAgo: number): Promise<unknown> =>
  world.rows(
    `INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, status, retry_until, settled_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 1, 'order.closed', $2, now(), now() - $3 * interval '1 day'
       FROM generate_series(1, $1::int)`,
    [count, status, daysAgo],
  );

/** So many, of an endpoint like that, whose time was over a week ago. */
const insertPending = (count: number, endpoint: string): Promise<unknown> =>
  world.rows(
    `WITH endpoint AS (
       INSERT INTO webhook_endpoints (id, url, events, secret, from_tx, status)
       VALUES (gen_random_uuid(), 'https://shop.test', '{*}', 'unused', '0', $2) RETURNING id)
     INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until)
     SELECT id, gen_random_uuid(), 1, 'order.closed', now() - interval '7 days'
       FROM endpoint, generate_series(1, $1::int)`,
    [count, endpoint],
  );

it('forgets what was delivered without reading what died, which is kept for longer', async () => {
  await insert(5_000, 'dead', 29);
  await insert(10, 'delivered', 8);
  await insert(10, 'delivered', 6);
  await insert(10, 'dead', 31);
  await world.rows('VACUUM ANALYZE webhook_deliveries');
  const runner = await beginHeldOpen(world.dataSource);
  const blocks = async (): Promise<number> => {
    const [row] = (await runner.query(
      `SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::int AS n FROM pg_class
        WHERE relname LIKE 'webhook_deliveries%'`,
    )) as [{ n: number }];
    return row.n;
  };
  const forgotten: number[] = [];
  try {
    const before = await blocks();
    for (const sql of FORGET_DELIVERIES) {
      const [{ n }] = (await runner.query(sql, [5_000])) as [{ n: number }];
      forgotten.push(n);
    }
    expect((await blocks()) - before).toBeLessThan(200);
    await runner.commitTransaction();
  } finally {
    await runner.release();
  }
  expect(forgotten).toEqual([10, 10, 0, 0, 0]);
  const left = `SELECT status, count(*)::int AS n FROM webhook_deliveries GROUP BY 1 ORDER BY 1`;
  expect(await world.rows(left)).toEqual([
    { status: 'dead', n: 5_000 },
    { status: 'delivered', n: 10 },
  ]);
});

it('passes over those that somebody is at: who settles them, or sends them again', async () => {
  await world.rows('TRUNCATE webhook_deliveries');
  await insert(2, 'delivered', 8);
  await insert(2, 'dead', 31);
  for (const status of ['deleted', 'off']) await insertPending(2, status);
  const holder = await beginHeldOpen(world.dataSource);
  try {
    const held = `SELECT min(d.id::text)::uuid FROM webhook_deliveries d
                    LEFT JOIN webhook_endpoints e ON e.id = d.endpoint_id GROUP BY d.status, e.status`;
    await holder.query(`SELECT FROM webhook_deliveries WHERE id IN (${held}) FOR UPDATE`);
    const forgotten: number[] = [];
    for (const sql of FORGET_DELIVERIES) {
      // A connection that waits for no row for long.
      const [{ n }] = await world.dataSource.query<[{ n: number }]>(sql, [5_000]);
      forgotten.push(n);
    }
    expect(forgotten).toEqual([1, 1, 1, 0, 1]);
  } finally {
    await holder.rollbackTransaction();
    await holder.release();
  }
});
