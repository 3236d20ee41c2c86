import { claimDue } from '../draining/claim-due';
import { insertDeadlines } from './deadlines';
import { DatabaseClock } from '../database/database-clock';
import { bringNear } from './far-deadlines';
import { NoopLock } from '../locks/noop.lock';
import { EVERYTHING_MS } from './low-water';
import { oldestLags } from './oldest-lags';
import { silentTelemetry } from '../telemetry';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { HandDriver } from '../testing/hand-driver';
import { TimeoutService } from '../timeout.service';
import { inTransaction } from '../database/in-transaction';

const KIND = 'shipment';
const HOUR_MS = 3_600_000;
const REACH_MS = 30 * 60_000;

let store: DeadlineStore;
beforeEach(async () => (store = await DeadlineStore.open()));
afterEach(() => store?.close());

const whereabouts = async () => {
  const rows = await store.rows<{ place: string; n: number }>(
    'SELECT tableoid::regclass::text AS place, count(*)::int AS n FROM deadlines GROUP BY 1',
  );
  return Object.fromEntries(rows.map(({ place, n }) => [place, n]));
};
const claim = (kind = KIND, limit = 100) =>
  inTransaction(store.dataSource, async (tx) => (await claimDue(tx, kind, limit, 0)).each);
/** Time passes for what waits. */
const pass = (ms: number) =>
  store.rows(`UPDATE deadlines SET due_at = due_at - $1 * interval '1 millisecond'`, [ms]);

describe('far deadlines', () => {
  it('wait apart from near ones until they come within reach', async () => {
    await store.add(KIND, [60_000, 2 * HOUR_MS, 3 * HOUR_MS]);
    expect(await whereabouts()).toEqual({ near_deadlines: 1, far_deadlines: 2 });
    expect(await bringNear(store.dataSource, [KIND], REACH_MS)).toEqual({
      moved: 0,
      isAll: true,
      hasOverdue: false,
    });
    await pass(2 * HOUR_MS - REACH_MS + 1_000);
    expect(await bringNear(store.dataSource, [KIND], REACH_MS)).toEqual({
      moved: 1,
      isAll: true,
      hasOverdue: false,
    });
    expect(await whereabouts()).toEqual({ near_deadlines: 2, far_deadlines: 1 });
  });

  it('are claimed once, though several bring them near at once', async () => {
    const many = Array.from({ length: 5_000 }, (_, i) => 2 * HOUR_MS + i);
    await store.add(KIND, many);
    await pass(3 * HOUR_MS);
    const moved = await Promise.all(
      [1, 2, 3].map(() => bringNear(store.dataSource, [KIND], REACH_MS)),
    );
    expect(moved.reduce((sum, one) => sum + one.moved, 0)).toBe(many.length);
    expect(await claim(KIND, 10_000)).toHaveLength(many.length);
    expect(await whereabouts()).toEqual({});
  });

  it('that somebody holds keep none of the others back, and it is said that some are overdue', async () => {
    const [held] = await store.add(KIND, [2 * HOUR_MS, 2 * HOUR_MS + 1, 3 * HOUR_MS + 60_000]);
    await pass(3 * HOUR_MS);
    const near = () => bringNear(store.dataSource, [KIND], REACH_MS);
    await inTransaction(store.dataSource, async (tx) => {
      await tx.rows('SELECT FROM deadlines WHERE subject_id = $1 FOR UPDATE', [held]);
      expect(await near()).toEqual({ moved: 2, isAll: true, hasOverdue: true });
    });
    expect(await near()).toEqual({ moved: 1, isAll: true, hasOverdue: true });
  });

  it('are left where they are by one that is told to end', async () => {
    const many = Array.from({ length: 5_000 }, (_, i) => 2 * HOUR_MS + i);
    await store.add(KIND, many);
    await pass(3 * HOUR_MS);
    const ending = new AbortController();
    const moving = bringNear(store.dataSource, [KIND, 'other'], REACH_MS, ending.signal);
    ending.abort();
    // The statement that was under way, and none after it.
    expect(await moving).toMatchObject({ moved: 2_000, isAll: false });
    expect(await whereabouts()).toEqual({ near_deadlines: 2_000, far_deadlines: 3_000 });
    expect(await bringNear(store.dataSource, [KIND], REACH_MS)).toMatchObject({
      moved: 3_000,
      isAll: true,
    });
  });

  it('are brought near by sweeps that follow each other, where one does not bring them all', async () => {
    const many = 60_000;
    await store.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id, far)
       SELECT $1, now() + interval '1 minute', gen_random_uuid(), true FROM generate_series(1, $2)`,
      [KIND, many],
    );
    const { dataSource } = store;
    const clock = new DatabaseClock(dataSource);
    const parts = { dataSource, drainDataSource: dataSource, clock, telemetry: silentTelemetry };
    const timeouts = new TimeoutService(
      { ...parts, driver: new HandDriver(), lock: new NoopLock() },
      {
        kinds: [KIND],
        granularity: 100,
        horizonMs: REACH_MS / 2,
        sweep: { intervalMs: 300_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
      },
    );
    await timeouts.runSweep();
    expect(await whereabouts()).toEqual({ near_deadlines: 50_000, far_deadlines: 10_000 });
    expect(timeouts.sweep.isDue(performance.now())).toBe(true);
    await timeouts.runSweep();
    expect(await whereabouts()).toEqual({ near_deadlines: many });
    expect(timeouts.sweep.isDue(performance.now())).toBe(false);
  });

  it('of kinds that this version does not know stay where they are', async () => {
    await store.add('newer', [2 * HOUR_MS]);
    await pass(3 * HOUR_MS);
    expect(await bringNear(store.dataSource, [KIND], REACH_MS)).toEqual({
      moved: 0,
      isAll: true,
      hasOverdue: false,
    });
    expect(await whereabouts()).toEqual({ far_deadlines: 1 });
  });

  it('do not count as overdue lag before they are near, and are one with their double', async () => {
    const deadline = { kind: KIND, subjectId: subject(1), version: 1 };
    const dueAt = new Date(Date.now() + 2 * HOUR_MS);
    await inTransaction(store.dataSource, (tx) => insertDeadlines(tx, [{ ...deadline, dueAt }]));
    await store.rows(
      'INSERT INTO deadlines SELECT kind, due_at, subject_id, 1, 0, false FROM deadlines',
    );
    await pass(3 * HOUR_MS);
    await bringNear(store.dataSource, [KIND], REACH_MS);
    expect(await whereabouts()).toEqual({ near_deadlines: 1 });
    const looks = [KIND, 'other'].map((kind) => ({ kind, sinceMs: EVERYTHING_MS }));
    const [near, none] = await oldestLags(store.dataSource, looks);
    expect(near?.lagMs).toBeGreaterThan(HOUR_MS - 1_000);
    expect(none?.lagMs).toBe(0);
  });
});

describe('a claim from a table with partitions', () => {
  it('takes what it has picked, and nothing that lies in the same place of another', async () => {
    await store.rows('DROP TABLE near_deadlines');
    await store.rows(
      'CREATE TABLE near_deadlines PARTITION OF deadlines FOR VALUES IN (false) PARTITION BY HASH (subject_id)',
    );
    for (const part of [0, 1, 2]) {
      await store.rows(
        `CREATE TABLE near_${part} PARTITION OF near_deadlines FOR VALUES WITH (MODULUS 3, REMAINDER ${part})`,
      );
    }
    await store.add(
      KIND,
      Array.from({ length: 60 }, (_, i) => -1_000 - i),
    );
    await store.add(
      'refund',
      Array.from({ length: 60 }, (_, i) => -1_000 - i),
    );
    const seen = new Set<string>();
    for (let left = 60; left > 0; left -= 10) {
      for (const { subjectId } of await claim(KIND, 10)) seen.add(subjectId);
      const rows = await store.rows('SELECT 1 FROM deadlines WHERE kind = $1', [KIND]);
      expect(rows).toHaveLength(left - 10);
    }
    expect(seen.size).toBe(60);
    expect(await store.rows(`SELECT 1 FROM deadlines WHERE kind = 'refund'`)).toHaveLength(60);
  });
});
