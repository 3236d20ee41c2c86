import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { Pool } from 'pg';
import {
  DeadlineHandler,
  fromPg,
  getTimeoutsToken,
  TimeoutModule,
  type Timeouts,
} from '../../libs/timeout/src/public';
import { createTestDatabase, onServer, type TestDatabase } from '../support/database';
import { insertOrders } from '../support/insert-orders';
import { createMigratedDatabase } from '../support/migrated-database';
import { until } from '../support/until';
import { openWorld } from '../support/world';

/* A database that writes dates, intervals, bytes and numbers, and reads strings, in a way of its own. */

const ITS_OWN_WAY = [
  "DateStyle = 'German, DMY'",
  "IntervalStyle = 'sql_standard'",
  "bytea_output = 'escape'",
  "TimeZone = 'Asia/Kathmandu'",
  'extra_float_digits = -3',
  'standard_conforming_strings = off',
  'array_nulls = off',
  'transform_null_equals = on',
  'quote_all_identifiers = on',
];

async function havingItsOwnWay(database: TestDatabase): Promise<TestDatabase> {
  const name = new URL(database.url).pathname.slice(1);
  await onServer(database.url, async (server) => {
    for (const one of ITS_OWN_WAY) await server.query(`ALTER DATABASE ${name} SET ${one}`);
  });
  return database;
}

it('has its orders closed, none early, and their stock given back', async () => {
  const database = await havingItsOwnWay(await createMigratedDatabase());
  const world = await openWorld({ databaseUrl: database.appUrl, ring: true });
  try {
    const inserted = await insertOrders(world, { count: 100, closesInMs: -1_000 });
    await world.timeouts.drainAll('timer');
    const rows = await world.rows<{ id: string; lagMs: number }>(
      `SELECT id, date_part('epoch', closed_at - closes_at) * 1000 AS "lagMs"
         FROM orders WHERE status = 'closed'`,
    );
    expect(rows.map(({ id }) => id).sort()).toEqual(inserted.map(({ id }) => id).sort());
    for (const { lagMs } of rows) expect(lagMs).toBeGreaterThanOrEqual(1_000);
    await until('their stock is back', async () => {
      const [row] = await world.rows<{ reserved: number }>('SELECT reserved FROM products');
      return row?.reserved === 0;
    });
  } finally {
    await world.close();
    await database.drop();
  }
});

it('has deadlines of a host handled', async () => {
  const database = await havingItsOwnWay(await createTestDatabase());
  const pool = new Pool({ connectionString: database.url });
  const handled: string[] = [];
  @DeadlineHandler('trial-end')
  class EndTrials {
    async handle(due: readonly { subjectId: string }[]): Promise<{ changed: number }> {
      handled.push(...due.map(({ subjectId }) => subjectId));
      return { changed: due.length };
    }
  }
  const timeouts = TimeoutModule.forRoot({ postgres: { pool }, driver: 'memory' });
  const module = await Test.createTestingModule({ imports: [timeouts], providers: [EndTrials] })
    .compile()
    .then((made) => made.init());
  try {
    const client = await pool.connect();
    const deadline = { kind: 'trial-end', subjectId: 'a', dueAt: new Date(Date.now() + 100) };
    await module.get<Timeouts>(getTimeoutsToken()).arm(fromPg(client), [deadline]);
    client.release();
    await until('it is handled', async () => handled.length > 0);
    expect(handled).toEqual(['a']);
  } finally {
    await module.close();
    await pool.end();
    await database.drop();
  }
});
