import { DataSource } from 'typeorm';
import { until } from '../../../../test/support/until';
import { DatabaseClock } from '../database/database-clock';
import { LateCommits } from './late-commits';
import { NoopLock } from '../locks/noop.lock';
import { silentTelemetry } from '../telemetry';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { Effects } from '../testing/drain-harness';
import { HandDriver } from '../testing/hand-driver';
import { TimeoutService } from '../timeout.service';

describe('LateCommits', () => {
  let elapsedMs: number;
  let late: LateCommits;
  beforeEach(() => {
    elapsedMs = 0;
    late = new LateCommits(() => elapsedMs);
  });
  const MARK_MS = 1_000_000;

  /** Where a look begins, at this instant, as others are at {@link MARK_MS}. */
  function look(atMs: number, oldestOpen: number, next: number, markMs = MARK_MS): number {
    const fromMs = late.behind(markMs);
    late.looked({ atMs, oldestOpen, next });
    // The next one comes a second later.
    elapsedMs += 1_000;
    return fromMs;
  }

  it.each([0, 1_000_000])(
    'looks at everything first, %i ms after its process began, and a moment back where nothing is open',
    (beganMs) => {
      elapsedMs = beganMs;
      expect(look(900_000, 7, 7)).toBe(-Infinity);
      expect(look(901_000, 7, 7)).toBe(895_000);
      expect(look(902_000, 7, 7)).toBe(896_000);
      expect(look(903_000, 7, 7, 800_000)).toBe(795_000);
    },
  );

  it('looks back behind what is open, and once more when that has ended', () => {
    look(900_000, 7, 7);
    for (let second = 901; second <= 910; second++) {
      expect(look(second * 1_000, 7, second)).toBe(895_000);
    }
    expect(look(911_000, 909, 911)).toBe(895_000);
    expect(look(912_000, 911, 912)).toBe(904_000);
  });

  it('looks back once a second only', () => {
    look(900_000, 7, 7);
    look(901_000, 7, 8);
    elapsedMs -= 750;
    expect(look(901_250, 7, 9)).toBe(MARK_MS - 5_000);
    expect(look(902_250, 7, 9)).toBe(895_000);
  });

  it('leaves to the sweep what was open for longer than a minute', () => {
    for (let second = 900; second < 1_000; second++) look(second * 1_000, 7, second);
    expect(look(1_000_000, 7, 1_000)).toBe(935_000);
  });

  it('looks no farther back where nobody has looked for long', () => {
    for (let second = 900; second < 1_000; second++) look(second * 1_000, 7, second);
    elapsedMs += 9_000;
    expect(look(1_009_000, 7, 1_009)).toBe(1_009_000 - 65_000);
  });

  it('looks at everything once a minute', () => {
    const seconds = Array.from({ length: 122 }, (_, index) => index);
    const all = seconds.filter((second) => look(900_000 + second * 1_000, 7, 7) === -Infinity);
    expect(all).toEqual([0, 60, 120]);
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
  // Due within the second that passes then: at its very end it may be due half a millisecond later, as due_at is rounded.
  const ARM = `INSERT INTO deadlines (kind, due_at, subject_id, version, failures, far)
               VALUES ($1, now() + interval '0.9 seconds', $2, 1, 0, false)`;

  function start(kind: string, effects: Effects): TimeoutService {
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
        ...{ kinds: [kind], granularity: 100, horizonMs: 60_000 },
        sweep: { intervalMs: 60_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
      },
    );
    timeouts.handle(kind, effects);
    return timeouts;
  }

  it.each([
    ['while others look', true],
    ['before anybody has looked', false],
  ])('is found by the looks after its commit, where it was armed %s', async (kind, isLate) => {
    const effects = new Effects();
    const timeouts = start(kind, effects);
    const { sweep } = timeouts;
    const look = async (): Promise<boolean> => {
      await pass(1);
      return sweep.takeMissed();
    };
    await timeouts.runSweep();
    if (isLate) expect(await look()).toBe(false);
    const host = skewed.createQueryRunner();
    await host.startTransaction();
    await host.query(ARM, [kind, subject(1)]);
    // Meanwhile others come due and are handled, each by its ring.
    for (let second = 2; second <= 12; second++) {
      await skewed.query(ARM, [kind, subject(second)]);
      await pass(1);
      timeouts.nudge(kind);
      await timeouts.idle();
      if (isLate) expect(await look()).toBe(false);
    }
    expect(effects.batches.flat()).toHaveLength(11);
    await host.commitTransaction();
    await host.release();
    // One of them is a moment back only: this machine's clock stands still meanwhile.
    expect((await look()) || (await look())).toBe(true);
    await until('it is handled', () => effects.batches.flat().includes(subject(1)));
    await timeouts.stop();
  });
});
