import { DataSource } from 'typeorm';
import { until } from '../../../test/support/until';
import { DatabaseClock } from './database-clock';
import { LateCommits } from './late-commits';
import { NoopLock } from './locks/noop.lock';
import { silentTelemetry } from './telemetry';
import { DeadlineStore, subject } from './testing/deadline-store';
import { Effects } from './testing/drain-harness';
import { HandDriver } from './testing/hand-driver';
import { TimeoutService } from './timeout.service';

const KIND = 'payment';

describe('LateCommits', () => {
  it('looks a moment back where nothing is open', () => {
    const late = new LateCommits();
    expect(late.behind(100_000)).toBe(95_000);
    for (const atMs of [10_000, 20_000]) late.looked({ atMs, oldestOpen: 7, next: 7 });
    expect(late.behind(100_000)).toBe(15_000);
    expect(late.behind(8_000)).toBe(3_000);
  });

  it('looks back behind what is open, and once more when that has ended', () => {
    const late = new LateCommits();
    late.looked({ atMs: 10_000, oldestOpen: 7, next: 7 });
    late.looked({ atMs: 20_000, oldestOpen: 7, next: 8 });
    late.looked({ atMs: 30_000, oldestOpen: 7, next: 30 });
    expect(late.behind(100_000)).toBe(5_000);
    late.looked({ atMs: 40_000, oldestOpen: 29, next: 40 });
    expect(late.behind(100_000)).toBe(15_000);
  });

  it('leaves to the sweep what was open for longer than a minute', () => {
    const late = new LateCommits();
    for (let atMs = 0; atMs <= 600_000; atMs += 250) {
      late.looked({ atMs, oldestOpen: 7, next: 7 + atMs });
    }
    expect(late.behind(700_000)).toBe(535_000);
  });
});

describe('A deadline that is committed long after its instant', () => {
  let store: DeadlineStore;
  /** Its sessions take the time from a table. */
  let skewed: DataSource;
  beforeAll(async () => {
    store = await DeadlineStore.open();
    await store.rows('CREATE SCHEMA skew');
    await store.rows(`CREATE TABLE skew.clock AS SELECT interval '0' AS ahead`);
    for (const name of ['now', 'clock_timestamp']) {
      await store.rows(`CREATE FUNCTION skew.${name}() RETURNS timestamptz LANGUAGE sql STABLE
        AS 'SELECT pg_catalog.${name}() + ahead FROM skew.clock'`);
    }
    const extra = { options: '-c search_path=skew,pg_catalog,public', pipeline: true };
    skewed = await new DataSource({ ...store.dataSource.options, extra }).initialize();
  });
  afterAll(async () => {
    await skewed?.destroy();
    await store?.close();
  });
  const pass = (seconds: number) =>
    store.rows(`UPDATE skew.clock SET ahead = ahead + $1 * interval '1 second'`, [seconds]);
  const ARM = `INSERT INTO deadlines (kind, due_at, subject_id, version, failures, far)
               VALUES ($1, now() + interval '1 second', $2, 1, 0, false)`;

  it('is found by the first look after its commit', async () => {
    const effects = new Effects();
    const timeouts = new TimeoutService(
      {
        driver: new HandDriver(),
        lock: new NoopLock(),
        dataSource: skewed,
        drainDataSource: skewed,
        clock: new DatabaseClock(skewed),
        telemetry: silentTelemetry,
      },
      {
        ...{ kinds: [KIND], granularity: 100, horizonMs: 60_000 },
        sweep: { intervalMs: 60_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
      },
    );
    timeouts.handle(KIND, effects);
    await timeouts.runSweep();
    const { sweep } = timeouts;
    expect(await sweep.takeMissed()).toBe(false);
    const host = skewed.createQueryRunner();
    await host.startTransaction();
    await host.query(ARM, [KIND, subject(1)]);
    // Meanwhile others come due and are handled, each by its ring.
    for (let second = 2; second <= 12; second++) {
      await skewed.query(ARM, [KIND, subject(second)]);
      await pass(1);
      timeouts.nudge(KIND);
      await timeouts.idle();
      expect(await sweep.takeMissed()).toBe(false);
    }
    expect(effects.batches.flat()).toHaveLength(11);
    await host.commitTransaction();
    await host.release();
    expect(await sweep.takeMissed()).toBe(true);
    await until('it is handled', () => effects.batches.flat().includes(subject(1)));
    await timeouts.stop();
  });
});
