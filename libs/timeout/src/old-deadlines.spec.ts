import { DatabaseClock } from './database/database-clock';
import { NoopLock } from './locks/noop.lock';
import { silentTelemetry } from './telemetry';
import { DeadlineStore } from './testing/deadline-store';
import { Effects } from './testing/drain-harness';
import { HandDriver } from './testing/hand-driver';
import { TimeoutService } from './timeout.service';

const KIND = 'payment';
const OLD = ['0001-01-01T00:00:00Z', '1900-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z'];

describe('what is due since before 1970, and was armed elsewhere', () => {
  let store: DeadlineStore;
  let timeouts: TimeoutService;
  let handler: Effects;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  beforeEach(async () => {
    await store.empty();
    const { dataSource } = store;
    const clock = new DatabaseClock(dataSource);
    const parts = { dataSource, drainDataSource: dataSource, clock, telemetry: silentTelemetry };
    const sweep = { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 1_000 };
    timeouts = new TimeoutService(
      { ...parts, driver: new HandDriver(), lock: new NoopLock() },
      { kinds: [KIND], granularity: 100, horizonMs: 60_000, sweep },
    );
    timeouts.handle(KIND, (handler = new Effects()));
  });

  const add = (dueAt: readonly string[]) =>
    store.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT $1, due_at, gen_random_uuid() FROM unnest($2::timestamptz[]) AS due_at`,
      [KIND, dueAt],
    );
  const WAYS: [string, () => Promise<unknown>][] = [
    ['a sweep', () => timeouts.runSweep()],
    ['the look for what is missed', () => timeouts.sweep.takeMissed()],
    ['a sharded sweep', () => timeouts.shardedSweep.run({ shards: 2 })],
    ['a drain of all', () => timeouts.drainAll('sweep')],
  ];

  it.each(WAYS)('is handled with all else, the oldest first: %s', async (_, look) => {
    await add([...OLD, new Date(Date.now() - 60_000).toISOString()]);
    await look();
    await timeouts.idle();
    expect(await store.deadlines()).toEqual([]);
    expect(handler.batches.flat()).toHaveLength(4);
  });

  it.each(WAYS)('is found also once all that is due was handled: %s', async (_, look) => {
    await timeouts.runSweep();
    await add(OLD);
    await look();
    await timeouts.idle();
    expect(await store.deadlines()).toEqual([]);
  });

  it('is counted by a backfill', async () => {
    await add(OLD);
    const counts = { total: 3, done: 3, overdue: 3 };
    expect(await timeouts.backfill.run({ batch: 2 })).toMatchObject(counts);
  });

  it('holds up nobody where somebody has put it before all instants by hand', async () => {
    await add(['-infinity', ...OLD]);
    await timeouts.runSweep();
    expect(await store.rows('SELECT due_at FROM deadlines')).toEqual([{ due_at: -Infinity }]);
    expect(handler.batches.flat()).toHaveLength(3);
  });
});
