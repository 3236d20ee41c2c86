import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  getTimeoutsToken,
  type HandlesDue,
  TimeoutModule,
  type Timeouts,
} from '../public';

const kind = 'trial-end';
const poisoned = { kind, subjectId: 'order-4711' };

describe('deadlines of a host that are held', () => {
  let database: TestDatabase;
  let pool: Pool;
  let module: TestingModule;
  let timeouts: Timeouts;
  let isMended: boolean;
  const told: unknown[][] = [];
  const handled: string[] = [];

  @DeadlineHandler(kind)
  class EndTrials implements HandlesDue {
    handle(due: readonly Due[]): Promise<{ changed: number }> {
      const names = due.map(({ subjectId }) => subjectId);
      if (!isMended && names.includes(poisoned.subjectId)) throw new Error('no such trial');
      handled.push(...names);
      return Promise.resolve({ changed: due.length });
    }
  }

  const start = async (): Promise<void> => {
    module = await Test.createTestingModule({
      imports: [
        TimeoutModule.forRoot({
          ...{ postgres: { pool }, driver: 'memory', sweepIntervalMs: 1_000 },
          telemetry: {
            failed: () => undefined,
            deadlineHeld: (...args) => void told.push(args),
          },
        }),
      ],
      providers: [EndTrials],
    }).compile();
    module.useLogger(false);
    await module.init();
    timeouts = module.get<Timeouts>(getTimeoutsToken());
  };
  const inMs = (ms: number): Date => new Date(Date.now() + ms);
  const rows = async (): Promise<number> =>
    (await pool.query('SELECT FROM lastcall.held_deadlines')).rows.length;

  /** Arms it, and has it fail for the eighth time while another succeeds. */
  const hold = async (): Promise<void> => {
    isMended = false;
    const other = { kind, subjectId: `other-${handled.length}`, dueAt: inMs(0) };
    await timeouts.arm(fromPg(pool), [{ ...poisoned, dueAt: inMs(60_000) }, other]);
    await until('another is handled', () => handled.includes(other.subjectId));
    await pool.query(
      `UPDATE lastcall.deadlines SET failures = 7, due_at = now() WHERE due_at > now()`,
    );
    await until('it is held', async () => (await timeouts.held()).length > 0);
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new Pool({ connectionString: database.url });
  });
  beforeEach(start);
  afterEach(async () => {
    await module.close();
    await pool.query('DROP SCHEMA lastcall CASCADE');
  });
  afterAll(async () => {
    await pool?.end();
    await database?.drop();
  });

  it("are told of, and known, by the host's own subjects, and go on once they are released", async () => {
    await hold();
    const telling = await until('it is told', () => told[0]);
    expect(telling).toEqual([kind, poisoned.subjectId, new Error('no such trial')]);
    const why = { failures: 8, error: 'Error: no such trial', heldAt: expect.any(Date) as Date };
    expect(await timeouts.held({ kind })).toEqual([
      { ...poisoned, dueAt: expect.any(Date) as Date, ...why },
    ]);
    expect(await timeouts.held({ kind: 'another' })).toEqual([]);
    expect(await timeouts.get(poisoned)).toMatchObject({ held: why });
    expect(await timeouts.list({ kind })).toMatchObject([{ ...poisoned, held: why }]);
    isMended = true;
    expect(await timeouts.release([poisoned, { kind, subjectId: 'nobody' }])).toBe(1);
    await until('it is handled', () => handled.includes(poisoned.subjectId));
    expect(await timeouts.held()).toEqual([]);
    expect(await timeouts.release(poisoned)).toBe(0);
  });

  it.each([
    ['armed again', () => timeouts.arm(fromPg(pool), { ...poisoned, dueAt: inMs(60_000) }), 1],
    [
      'rescheduled',
      () => timeouts.reschedule(fromPg(pool), { ...poisoned, dueAt: inMs(60_000) }),
      1,
    ],
    ['taken back', () => timeouts.cancel(fromPg(pool), poisoned), 0],
  ])('are held no more once they are %s, and leave no row for long', async (_what, act, armed) => {
    await hold();
    await act();
    expect(await timeouts.held()).toEqual([]);
    expect(await timeouts.release(poisoned)).toBe(0);
    const known = await timeouts.list({ kind });
    expect(known).toHaveLength(armed);
    for (const one of known) expect(one).not.toHaveProperty('held');
    expect(await rows()).toBe(1);
    // As every worker does when it starts, and each minute.
    await module.close();
    await start();
    await until('its row is gone', async () => (await rows()) === 0);
  });
});
