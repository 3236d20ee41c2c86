import 'reflect-metadata';
import { migrate } from '@app/orders';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool } from 'pg';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  getTimeoutsToken,
  type HandlesDue,
  TimeoutModule,
  type Timeouts,
} from '../../libs/timeout/src/public';
import { asMigrating, createTestDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/until';
import { openWorld } from '../support/world';

const ann = { kind: 'payment', subjectId: 'ann' };

@DeadlineHandler('payment')
class EndsPayments implements HandlesDue {
  handle(due: readonly Due[]): Promise<{ changed: number }> {
    return Promise.resolve({ changed: due.length });
  }
}

describe('orders that come to a schema where a host has deadlines of the name of theirs', () => {
  let database: TestDatabase;
  let pool: Pool;
  let module: TestingModule;
  let timeouts: Timeouts;
  const failing: unknown[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new Pool({ connectionString: database.url });
    module = await Test.createTestingModule({
      imports: [
        TimeoutModule.forRoot({
          ...{ postgres: { pool }, driver: 'memory', sweepIntervalMs: 1_000 },
          telemetry: {
            failed: () => undefined,
            handlerFails: (_kind, error) => void failing.push(error),
          },
        }),
      ],
      providers: [EndsPayments],
    }).compile();
    await module.init();
    timeouts = module.get<Timeouts>(getTimeoutsToken());
  });
  afterAll(async () => {
    await module?.close();
    await pool?.end();
    await database?.drop();
  });

  it('make no tables while some wait there, and do once none does', async () => {
    await timeouts.arm(fromPg(pool), { ...ann, dueAt: new Date('2099-01-01') });
    await expect(migrate(asMigrating(database.url))).rejects.toMatchObject({
      ...{ code: 'invalid_settings', message: expect.stringContaining('"payment"') as string },
    });
    const { rows } = await pool.query(`SELECT to_regclass('lastcall.orders') AS orders`);
    expect(rows).toEqual([{ orders: null }]);
    expect(await timeouts.cancel(fromPg(pool), ann)).toBe(1);
    expect(await migrate(asMigrating(database.url))).not.toEqual([]);
  });

  it('lose no deadline to a process of that host which still runs, and hold none by it', async () => {
    await pool.query(
      `INSERT INTO lastcall.deadlines (kind, due_at, subject_id, version)
       SELECT 'payment', now(), gen_random_uuid(), 1 FROM generate_series(1, 20)`,
    );
    await until('its handler stands still, or has them all', async () => {
      const { rowCount } = await pool.query('SELECT FROM lastcall.deadlines');
      return failing.length > 0 || rowCount === 0;
    });
    const { rows } = await pool.query(
      'SELECT count(*)::int AS count, max(failures) AS failures FROM lastcall.deadlines',
    );
    expect(rows).toEqual([{ count: 20, failures: 0 }]);
    expect(failing).toMatchObject([{ code: 'reserved_kind' }]);
  });
});

it('do not start beside what waits there of the name of theirs', async () => {
  const world = await openWorld();
  await world.rows(
    `INSERT INTO timeout_subjects (id, kind, subject, due_at) VALUES (gen_random_uuid(), 'refund', 'rma-1', now())`,
  );
  await expect(openWorld({ beside: world, ring: true })).rejects.toMatchObject({
    ...{ code: 'invalid_settings', message: expect.stringContaining('"refund"') as string },
  });
  await world.rows('DELETE FROM timeout_subjects');
  await (await openWorld({ beside: world, ring: true })).close();
  await world.close();
});
