import { until } from '../../../test/support/until';
import { DatabaseClock } from './database/database-clock';
import type { DeadlineHandler } from './deadlines/deadline-handler';
import { Drain } from './draining/drain';
import { drainDefaults } from './draining/drain-options';
import { NoopLock } from './locks/noop.lock';
import { type Look, LowWater } from './deadlines/low-water';
import { silentTelemetry, type TimeoutTelemetry } from './telemetry';
import { DeadlineStore, subject } from './testing/deadline-store';
import { drainParts, Effects } from './testing/drain-harness';
import { Gate } from './testing/gate';
import { HandDriver } from './testing/hand-driver';
import { TimeoutService } from './timeout.service';

const [SLOW, QUICK] = ['payment', 'webhook'];

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
beforeEach(() => store.empty());

const gates: Gate[] = [];
/** Opened whatever becomes of its test: a batch that stands before it would hold up the next one. */
function newGate(): Gate {
  const gate = new Gate();
  gates.push(gate);
  return gate;
}
afterEach(() => gates.splice(0).forEach((gate) => gate.open()));

function service(
  slow: DeadlineHandler,
  told: Partial<TimeoutTelemetry> = {},
): { timeouts: TimeoutService; driver: HandDriver; quick: Effects } {
  const { dataSource } = store;
  const driver = new HandDriver();
  const timeouts = new TimeoutService(
    {
      driver,
      lock: new NoopLock(),
      dataSource,
      drainDataSource: dataSource,
      clock: new DatabaseClock(dataSource),
      telemetry: { ...silentTelemetry, ...told },
    },
    {
      kinds: [SLOW, QUICK],
      granularity: 100,
      horizonMs: 60_000,
      sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
    },
  );
  const quick = new Effects();
  timeouts.handle(SLOW, slow);
  timeouts.handle(QUICK, quick);
  return { timeouts, driver, quick };
}

/** The instant that its alarm names. */
async function insert(kind: string, index: number, due: string): Promise<Date> {
  const rows = await store.rows<{ due_at: Date }>(
    `INSERT INTO deadlines (kind, due_at, subject_id)
     VALUES ($1, date_trunc('milliseconds', now() + $2::interval), $3) RETURNING due_at`,
    [kind, due, subject(index)],
  );
  return (rows[0] as { due_at: Date }).due_at;
}

describe('while one kind’s drain takes its time', () => {
  it('rings end at once, and the other kind is handled', async () => {
    const gate = newGate();
    const { timeouts, driver, quick } = service(new Effects(100, () => gate.pass()));
    await timeouts.start();
    await driver.ring([{ id: 'slot-1', at: await insert(SLOW, 1, '-1s') }]);
    await gate.reached();
    for (let index = 2; index < 20; index++) {
      await driver.ring([{ id: `slot-${index}`, at: await insert(QUICK, index, '-1ms') }]);
      await until(`webhook ${index}`, () => quick.batches.flat().includes(subject(index)));
    }
    gate.open();
    await timeouts.stop();
    expect(await store.deadlines()).toEqual([]);
  });

  it('a ring whose instant its store has lost finds everything, and harms no ring after it', async () => {
    const failed = jest.fn();
    const looks = jest.spyOn(LowWater.prototype, 'begin');
    const { timeouts, driver, quick } = service(new Effects(), { failed });
    await timeouts.start();
    await insert(SLOW, 1, '-1h');
    await insert(QUICK, 2, '-1h');
    await driver.ring([{ id: 'slot-1', at: new Date(NaN) }]);
    await until('what waits', async () => (await store.deadlines()).length === 0);
    await driver.ring([{ id: 'slot-2', at: await insert(QUICK, 3, '-1ms') }]);
    await until('the next one', () => quick.batches.flat().includes(subject(3)));
    await timeouts.stop();
    expect(failed).not.toHaveBeenCalled();
    // From its instant on again, not at everything that was ever due.
    const [last] = looks.mock.results.slice(-1);
    expect((last?.value as Look).fromMs).toBeGreaterThan(0);
    looks.mockRestore();
  });

  it('a sweep arms, says so and is done; what it sent out is told when it is back', async () => {
    const gate = newGate();
    const [swept, sweptUp] = [jest.fn(), jest.fn()];
    const { timeouts, driver, quick } = service(new Effects(100, () => gate.pass()), {
      swept,
      sweptUp,
    });
    await insert(SLOW, 1, '-5s');
    await insert(QUICK, 2, '-5s');
    await insert(QUICK, 3, '20s');
    const underWay = await timeouts.sweep.begin(undefined, Infinity);
    expect(underWay).toMatchObject({ armed: 1 });
    expect(driver.armed).toHaveLength(1);
    expect(swept).toHaveBeenCalledWith(expect.objectContaining({ armed: 1 }));
    await gate.reached();
    await until('the other kind', () => quick.batches.length > 0);
    // The next one neither.
    await timeouts.sweep.begin();
    expect(sweptUp).not.toHaveBeenCalled();
    gate.open();
    expect(await underWay.drained).toMatchObject({ found: 2 });
    expect(sweptUp).toHaveBeenCalledWith(expect.objectContaining({ found: 2 }));
    await timeouts.stop();
  });
});

describe('stopping', () => {
  it('ends after the batches under way, whatever waits', async () => {
    await store.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT $1, now() - interval '1 minute', gen_random_uuid() FROM generate_series(1, 30000)`,
      [SLOW],
    );
    const gate = newGate();
    const slow = new Effects(100, () => gate.pass());
    const { timeouts, driver } = service(slow);
    await timeouts.start();
    await driver.ring([{ id: 'slot-1', at: await store.now() }]);
    await gate.reached();
    const stopped = timeouts.stop();
    gate.open();
    await stopped;
    expect(slow.batches).toHaveLength(1);
    expect(await store.deadlines()).toHaveLength(29_900);
  });

  it('does not begin what is signalled afterwards', async () => {
    await insert(SLOW, 1, '-1s');
    const { timeouts } = service(new Effects());
    await timeouts.stop();
    timeouts.nudge(SLOW);
    await timeouts.idle();
    expect(await store.deadlines()).toHaveLength(1);
  });
});

it('rejects when one drainer fails, but not before its siblings have ended', async () => {
  await store.add(SLOW, Array<number>(60).fill(-1));
  const gate = newGate();
  const full = `DO $$ BEGIN RAISE 'No space left' USING ERRCODE = '53100'; END $$`;
  let batches = 0;
  // The first batch is the first drainer's, which the round begins with: it fails once there is another.
  const handler = new Effects(10, async (_, tx) => {
    if (++batches > 1) return gate.pass();
    await gate.reached();
    await tx.rows(full);
  });
  const parts = drainParts(store.dataSource, SLOW);
  const one = new Drain(SLOW, handler, parts, { ...drainDefaults, drainers: 2 });
  let isOver = false;
  const round = one.run('timer').finally(() => (isOver = true));
  round.catch(() => undefined);
  await gate.reached();
  const areFree = (count: number) => async (): Promise<boolean> => {
    const free = await store.rows('SELECT FROM near_deadlines FOR UPDATE SKIP LOCKED');
    return free.length === count;
  };
  await until('the first has failed', areFree(50));
  for (let look = 0; look < 20; look++) await store.now();
  expect(isOver).toBe(false);
  gate.open();
  await expect(round).rejects.toThrow('No space left');
  // The sibling's batch has gone through.
  expect(await store.rows('SELECT FROM effects')).toHaveLength(10);
});
