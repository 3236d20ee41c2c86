import { randomUUID } from 'node:crypto';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { until } from '../../../../test/support/until';
import { DatabaseClock } from '../database/database-clock';
import type { BatchResult, DeadlineHandler } from '../deadlines/deadline-handler';
import { Drain } from '../draining/drain';
import { drainDefaults } from '../draining/drain-options';
import { NoopLock } from '../locks/noop.lock';
import { EVERYTHING_MS } from '../deadlines/low-water';
import { silentTelemetry } from '../telemetry';
import { DeadlineStore } from '../testing/deadline-store';
import { drainParts } from '../testing/drain-harness';
import { Gate } from '../testing/gate';
import { HandDriver } from '../testing/hand-driver';
import type { TimeoutOptions } from '../timeout-options';
import { TimeoutService } from '../timeout.service';
import { ShardedSweep } from './sharded-sweep';
import { type Shard, SweepShards } from './sweep-shards';

const KIND = 'payment';
const OTHER = 'receipt';
const DEAD = { id: randomUUID(), name: 'elsewhere:1' };

let store: DeadlineStore;
let shards: SweepShards;
beforeAll(async () => {
  store = await DeadlineStore.open();
  shards = new SweepShards(store.dataSource);
});
afterAll(() => store?.close());
beforeEach(() => store.empty());

type Handle = DeadlineHandler['handle'];
const record: Handle = async (due, tx, by): Promise<BatchResult> => {
  const ids = due.map(({ subjectId }) => subjectId);
  await tx.rows('INSERT INTO effects SELECT unnest($1::uuid[]), $2', [ids, by]);
  return { changed: due.length, lost: 0 };
};

function service(handle = record, change: Partial<TimeoutOptions> = {}): TimeoutService {
  const { dataSource } = store;
  const clock = new DatabaseClock(dataSource);
  const parts = { dataSource, drainDataSource: dataSource, clock, telemetry: silentTelemetry };
  const timeouts = new TimeoutService(
    { ...parts, driver: new HandDriver(), lock: new NoopLock() },
    {
      kinds: [KIND, OTHER],
      granularity: 100,
      horizonMs: 60_000,
      sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
      ...change,
    },
  );
  const handler = { maxBatch: 100, lockKey: () => undefined, handle };
  for (const kind of [KIND, OTHER]) timeouts.handle(kind, handler);
  return timeouts;
}

const overdue = (count: number) => Array.from({ length: count }, (_, n) => -60_000 + n);
const effects = async () => (await store.rows('SELECT subject_id FROM effects')).length;
const expireLeases = () =>
  store.rows("UPDATE sweep_shards SET lease_until = now() - interval '1 s'");
/** A run whose first shard a process that is dead has taken. */
async function leftBehind(count: number): Promise<{ runId: string; shard: Shard }> {
  const runId = randomUUID();
  await shards.open(runId, [KIND, OTHER], count);
  const shard = (await shards.take(DEAD, KIND)) as Shard;
  // However long a test takes, it is the test that lets the lease run out.
  await store.rows(
    "UPDATE sweep_shards SET lease_until = now() + interval '50 s' WHERE lease_until IS NOT NULL",
  );
  return { runId, shard };
}

describe('ShardedSweep', () => {
  it('cuts each kind into parts of one size, and reports of each and of all', async () => {
    await store.add(KIND, [...overdue(1_000), 60_000]);
    await store.add(OTHER, [-1_000, -1_000]);
    const report = await service().shardedSweep.run({ shards: 4 });
    expect(report).toMatchObject({ due: 1_002, found: 1_002, changed: 1_002, left: 0 });
    expect(report).toMatchObject({ hasEnded: true, isWithinServiceLevel: true });
    expect(report.shards.map(({ kind, due, found }) => [kind, due, found])).toEqual([
      ...Array<unknown>(4).fill([KIND, 250, 250]),
      [OTHER, 1, 1],
      [OTHER, 1, 1],
    ]);
    const [first] = report.shards;
    expect(first?.oldestLagMs).toBeGreaterThanOrEqual(60_000);
    expect(first?.ranBy).toEqual([expect.stringMatching(/:\d+$/)]);
    expect(await store.deadlines()).toHaveLength(1);
  });

  it('has nothing to do where nothing is overdue', async () => {
    const report = await service().shardedSweep.run({ shards: 8 });
    expect(report).toMatchObject({ due: 0, found: 0, hasEnded: true, shards: [] });
  });

  it('is shared by all who look, each deadline handled once', async () => {
    await store.add(KIND, overdue(2_000));
    const gate = new Gate();
    const held: Handle = async (...args) => {
      await gate.pass();
      return record(...args);
    };
    const taken = jest.fn();
    const heldToo: Handle = async (...args) => {
      taken();
      return held(...args);
    };
    const [one, two] = [service(held), service(heldToo)];
    const running = one.shardedSweep.run({ shards: 10 });
    const { shardedSweep } = two;
    while (shardedSweep.leftToRunMs(KIND) === EVERYTHING_MS) await shardedSweep.look();
    const taking = shardedSweep.takePart();
    await until('the other has a shard', () => taken.mock.calls.length > 0);
    gate.open();
    await taking;
    expect(await running).toMatchObject({ found: 2_000, changed: 2_000, left: 0 });
    expect(await effects()).toBe(2_000);
  });

  it('takes over what a dead process has left, and says who had it', async () => {
    await store.add(KIND, overdue(300));
    const { runId } = await leftBehind(3);
    const timeouts = service();
    await timeouts.shardedSweep.look();
    await timeouts.shardedSweep.takePart();
    const held = await shards.read(runId);
    expect(held.map(({ state, found }) => [state, found])).toEqual([
      ['running', 0],
      ['ended', 100],
      ['ended', 100],
    ]);
    await expireLeases();
    // Nobody is at it any more, and still it is to be had.
    await timeouts.shardedSweep.look();
    expect(timeouts.shardedSweep.leftToRunMs(KIND)).toBe(EVERYTHING_MS);
    await timeouts.shardedSweep.takePart();
    const [first] = await shards.read(runId);
    expect(first).toMatchObject({
      state: 'ended',
      found: 100,
      ranBy: [DEAD.name, expect.any(String)],
    });
    expect(await effects()).toBe(300);
  });

  it('is of who renews its lease in time, and of nobody who has lost it', async () => {
    await store.add(KIND, overdue(10));
    const { shard } = await leftBehind(1);
    const other = { id: randomUUID(), name: 'here:1' };
    await expireLeases();
    expect(await shards.renew(shard, DEAD)).toBe(true);
    expect(await shards.take(other, KIND)).toBeUndefined();
    await expireLeases();
    expect(await shards.take(other, KIND)).toMatchObject({ shard: shard.shard });
    expect(await shards.renew(shard, DEAD)).toBe(false);
  });

  it('is left what was overdue as it began, by rings and sweeps, while somebody is at it', async () => {
    const timeouts = service();
    await timeouts.runSweep();
    await store.add(KIND, Array<number>(50).fill(-300_000));
    await leftBehind(1);
    await timeouts.shardedSweep.look();
    expect(await timeouts.sweep.takeMissed()).toBe(false);
    expect(await timeouts.runSweep()).toMatchObject({ found: 0, oldestLagMs: 0 });
    await expireLeases();
    await timeouts.shardedSweep.look();
    // Without another sweep, however old it is, and though claims had gone past it.
    expect(await timeouts.sweep.takeMissed()).toBe(true);
    await timeouts.idle();
    expect(await effects()).toBe(50);
  });

  it('counts a batch with its effects: once, also when it was rolled back before', async () => {
    await store.add(KIND, overdue(100));
    let failures = 0;
    const timeouts = service(async (due, tx, by) => {
      const result = await record(due, tx, by);
      if (failures++ === 0) throw new Error('after its effects');
      return result;
    });
    expect(await timeouts.shardedSweep.run({ shards: 1 })).toMatchObject({ found: 100, left: 0 });
    expect(await effects()).toBe(100);
  });

  it('waits for the shard that another batch commits to, and makes nothing anew for it', async () => {
    await store.add(KIND, overdue(100));
    const committing = await beginHeldOpen(store.dataSource);
    const handled: string[] = [];
    const timeouts = service(async (due, tx, by) => {
      if (handled.length === 0) await committing.query('SELECT FROM sweep_shards FOR UPDATE');
      handled.push(...due.map(({ subjectId }) => subjectId));
      return record(due, tx, by);
    });
    const running = timeouts.shardedSweep.run({ shards: 1 });
    try {
      // Longer than a batch waits for the rows of its subjects, by the database's clock.
      await until('the batch waits for its shard, or was made anew', async () => {
        const waiting = await store.rows(
          `SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
              AND query LIKE '%found = found +%' AND clock_timestamp() - query_start > interval '0.4 s'`,
        );
        return waiting.length > 0 || handled.length > 100;
      });
    } finally {
      await committing.rollbackTransaction();
      await committing.release();
    }
    expect(await running).toMatchObject({ found: 100, changed: 100, left: 0 });
    expect(handled).toHaveLength(100);
  });

  it('leaves off after the batch under way, and the next one has the shard at once', async () => {
    await store.add(KIND, overdue(1_000));
    const stopping = new AbortController();
    const timeouts = service(async (due, tx, by) => {
      stopping.abort();
      return record(due, tx, by);
    });
    const report = await timeouts.shardedSweep.run({ shards: 1, signal: stopping.signal });
    expect(report.hasEnded).toBe(false);
    expect(report.found).toBe(await effects());
    expect(report.found).toBeLessThan(1_000);
    await expect(shards.take(DEAD, KIND, report.runId)).resolves.toBeDefined();
  });

  it('is over once it is old, with what is still there', async () => {
    await store.add(KIND, overdue(20));
    const gate = new Gate();
    const timeouts = service(async (...args) => {
      await gate.pass();
      return record(...args);
    });
    const running = timeouts.shardedSweep.run({ shards: 2 });
    await gate.reached();
    await store.rows("UPDATE sweep_shards SET begun_at = begun_at - interval '1 hour'");
    gate.open();
    expect(await running).toMatchObject({ hasEnded: true, found: 10, left: 10 });
  });

  it('ends at once where timeouts have stopped themselves, and touches nothing', async () => {
    await store.add(KIND, overdue(20));
    await store.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('a test', $1, 20, 20)`,
      [KIND],
    );
    const timeouts = service(record, { brake: { kinds: [KIND], share: 0.5 } });
    const ends = jest.spyOn(SweepShards.prototype, 'countLeft');
    expect(await timeouts.shardedSweep.run({ shards: 4 })).toMatchObject({
      ...{ hasEnded: true, found: 0, left: 20 },
    });
    // Each is looked at once, and not for as long as somebody may hold it.
    expect(ends).toHaveBeenCalledTimes(4);
    expect(await effects()).toBe(0);
  });

  it('refuses a second run beside one under way, and changes nothing', async () => {
    await store.add(KIND, overdue(10));
    await leftBehind(1);
    await expect(service().shardedSweep.run({ shards: 1 })).rejects.toMatchObject({
      code: 'sweep_under_way',
    });
    expect(await store.rows('SELECT run_id FROM sweep_shards')).toHaveLength(1);
  });

  it('is none of those that were begun, or taken, by somebody who was killed while the clock was ahead', async () => {
    await store.add(KIND, overdue(10));
    for (const column of ['begun_at', 'lease_until']) {
      await leftBehind(1);
      await store.rows(`UPDATE sweep_shards SET ${column} = ${column} + interval '1 day'`);
      const looking = service().shardedSweep;
      await looking.look();
      expect(looking.leftToRunMs(KIND)).toBe(EVERYTHING_MS);
    }
    // The latter's shard is to be had.
    const other = service().shardedSweep;
    await other.look();
    await other.takePart();
    expect(await effects()).toBe(10);
  });

  it('ends a shard without what somebody holds, and says how many those are', async () => {
    const [held] = await store.add(KIND, overdue(20));
    const holder = store.dataSource.createQueryRunner();
    await holder.startTransaction();
    try {
      await holder.query('SELECT 1 FROM near_deadlines WHERE subject_id = $1 FOR UPDATE', [held]);
      const parts = { ...drainParts(store.dataSource, KIND), alarms: service().alarms };
      const handler = { maxBatch: 100, lockKey: () => undefined, handle: record };
      const drain = new Drain(KIND, handler, parts, drainDefaults);
      const sweep = new ShardedSweep(
        store.dataSource,
        new Map([[KIND, drain]]),
        silentTelemetry,
        1,
      );
      const report = await sweep.run({ shards: 2 });
      expect(report).toMatchObject({ hasEnded: true, found: 19, left: 1 });
      expect(report.isWithinServiceLevel).toBe(false);
    } finally {
      await holder.rollbackTransaction();
      await holder.release();
    }
  });
});
