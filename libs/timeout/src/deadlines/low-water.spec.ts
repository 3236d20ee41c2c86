import { DatabaseClock } from '../database/database-clock';
import { claimDue, type ClaimOptions } from '../draining/claim-due';
import { NoopLock } from '../locks/noop.lock';
import { EVERYTHING_MS, LowWater } from './low-water';
import { oldestLags } from './oldest-lags';
import { silentTelemetry } from '../telemetry';
import { DeadlineStore } from '../testing/deadline-store';
import { Effects } from '../testing/drain-harness';
import { HandDriver } from '../testing/hand-driver';
import { TimeoutService } from '../timeout.service';
import { inTransaction } from '../database/in-transaction';
import type { Transaction } from '../database/transaction';

const KIND = 'payment';
const GONE = 20_000;

describe('LowWater', () => {
  it('rises to the oldest that was found, and not back with those who looked before', () => {
    const mark = new LowWater();
    const before = mark.begin();
    mark.end(mark.begin(), 500);
    mark.end(before, 300);
    expect(mark.fromMs).toBe(500);
  });

  it('falls when the clock was set back', () => {
    const mark = new LowWater();
    mark.end(mark.begin(), 500);
    mark.end(mark.begin(), 300);
    expect(mark.fromMs).toBe(300);
  });

  it('stays where it is when the claim has failed', () => {
    const mark = new LowWater();
    mark.end(mark.begin(), undefined);
    expect(mark.begin().fromMs).toBe(EVERYTHING_MS);
  });

  it('is not raised above what it was lowered to while somebody looked', () => {
    const mark = new LowWater();
    mark.end(mark.begin(), 400);
    const [one, other] = [mark.begin(), mark.begin()];
    mark.lower(100);
    mark.end(one, 900);
    mark.end(other, 950);
    expect(mark.begin().fromMs).toBe(100);
    mark.end(mark.begin(), 960);
    expect(mark.begin().fromMs).toBe(960);
  });
});

describe('claims with an old snapshot open', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const claim = (mark: LowWater, limit = 5_000) =>
    inTransaction(
      store.dataSource,
      async (tx) => (await claimDue(tx, KIND, limit, 0, { lowWater: mark })).each,
    );

  /** Blocks of the table and its index that this transaction has looked at. */
  const blocksRead = async (tx: Transaction): Promise<number> => {
    const [row] = await tx.rows<{ n: string }>(
      `SELECT sum(pg_stat_get_xact_blocks_fetched(oid)) AS n FROM pg_class
        WHERE relname IN ('near_deadlines', 'near_deadlines_pkey')`,
    );
    return Number(row?.n);
  };
  const blocksOfAClaim = (options: ClaimOptions): Promise<number> =>
    inTransaction(store.dataSource, async (tx) => {
      const [before, due] = [await blocksRead(tx), (await store.deadlines()).length];
      const { count } = await claimDue(tx, KIND, 1, 0, options);
      expect(count).toBe(Math.min(1, due));
      return (await blocksRead(tx)) - before;
    });

  async function besideASnapshot(work: () => Promise<void>): Promise<void> {
    const snapshot = store.dataSource.createQueryRunner();
    await snapshot.startTransaction('REPEATABLE READ');
    try {
      await snapshot.query('SELECT count(*) FROM deadlines');
      await work();
    } finally {
      await snapshot.rollbackTransaction();
      await snapshot.release();
    }
  }

  it('read nothing of what is gone', async () => {
    const mark = new LowWater();
    await besideASnapshot(async () => {
      await store.rows(
        `INSERT INTO deadlines (kind, due_at, subject_id)
         SELECT $1, now() - (i + 10) * interval '1 millisecond', gen_random_uuid()
           FROM generate_series(1, $2::int) AS i`,
        [KIND, GONE],
      );
      while ((await claim(mark)).length > 0);
      await store.add(KIND, [-1, 60_000]);
      await claim(mark, 0);
      const marked = await blocksOfAClaim({ lowWater: mark });
      await store.add(KIND, [-1]);
      const all = await blocksOfAClaim({});
      expect(marked).toBeLessThan(30);
      // What it would be otherwise: else the test shows nothing.
      expect(all).toBeGreaterThan(200);
    });
  });

  it('read nothing of what was paid before it was due, where they look for what is next', async () => {
    await besideASnapshot(async () => {
      await store.rows(
        `INSERT INTO deadlines (kind, due_at, subject_id)
         SELECT $1, now() + interval '1 minute' + i * interval '1 millisecond', gen_random_uuid()
           FROM generate_series(1, $2::int) AS i`,
        [KIND, GONE],
      );
      await store.rows('DELETE FROM deadlines');
      const nextUntilMs = (await store.now()).getTime() + 100;
      expect(await blocksOfAClaim({ nextUntilMs })).toBeLessThan(30);
      // What it would be otherwise: else the test shows nothing.
      const hour = { nextUntilMs: nextUntilMs + 3_600_000 };
      expect(await blocksOfAClaim(hour)).toBeGreaterThan(200);
    });
  });

  it('look at everything when the mark is in the future: the clock was set back', async () => {
    const mark = new LowWater();
    mark.end(mark.begin(), Date.now() + 3_600_000);
    await store.add(KIND, [-1_000]);
    const [oldest] = await oldestLags(store.dataSource, [{ kind: KIND, sinceMs: mark.fromMs }]);
    expect(oldest?.lagMs).toBeGreaterThan(500);
    expect(await claim(mark)).toHaveLength(1);
  });

  it('find what came late once they are told, and all that others have put back', async () => {
    const mark = new LowWater();
    const [old] = await store.add(KIND, [-5_000]);
    const other = store.dataSource.createQueryRunner();
    await other.startTransaction();
    await other.query('DELETE FROM deadlines');
    // Another process has claimed it, and dies: the mark must not have passed it by.
    expect(await claim(mark)).toEqual([]);
    await other.rollbackTransaction();
    await other.release();
    expect((await claim(mark)).map(({ subjectId }) => subjectId)).toEqual([old]);
    expect(await claim(mark)).toEqual([]);
    await store.add(KIND, [-60_000]);
    expect(await claim(mark)).toEqual([]);
    mark.lower(Date.now() - 3_600_000);
    expect(await claim(mark)).toHaveLength(1);
  });
});

describe('what looks for the overdue', () => {
  let store: DeadlineStore;
  let timeouts: TimeoutService;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  afterEach(() => jest.restoreAllMocks());

  beforeEach(async () => {
    await store.empty();
    const { dataSource } = store;
    const clock = new DatabaseClock(dataSource);
    const parts = { dataSource, drainDataSource: dataSource, clock, telemetry: silentTelemetry };
    timeouts = new TimeoutService(
      { ...parts, driver: new HandDriver(), lock: new NoopLock() },
      {
        kinds: [KIND],
        granularity: 100,
        horizonMs: 60_000,
        sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
      },
    );
    timeouts.handle(KIND, new Effects());
    // The first one's claims begin at the beginning, and leave the mark in the present.
    await timeouts.runSweep();
  });

  /** Where the claims of `work` began to look. */
  async function begunBy(work: () => Promise<unknown>): Promise<number[]> {
    const begun = jest.spyOn(LowWater.prototype, 'begin');
    await work();
    await timeouts.idle();
    return begun.mock.results.map(({ value }) => (value as { fromMs: number }).fromMs);
  }

  /** One that nobody hears of, between two milliseconds. */
  async function addUnheard(dueInMs: number): Promise<number> {
    const [row] = await store.rows<{ ms: string }>(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       VALUES ($1, date_trunc('milliseconds', now()) + ($2 || ' ms')::interval + interval '0.9 ms',
               gen_random_uuid())
       RETURNING floor(extract(epoch FROM due_at) * 1000) AS ms`,
      [KIND, dueInMs],
    );
    return Number(row?.ms);
  }

  it.each([
    ['a sweep', () => timeouts.runSweep(), -3_600_000],
    ['the look for what is missed', () => timeouts.sweep.takeMissed(), -2_000],
  ])('claims from the oldest on that it has seen: %s', async (_, look, dueInMs) => {
    const oldestMs = await addUnheard(dueInMs);
    expect(Math.min(...(await begunBy(look)))).toBe(oldestMs);
    expect(await store.deadlines()).toEqual([]);
  });

  it('claims the oldest first, however long before what is missed it was due', async () => {
    // From here on it looks near the mark.
    await timeouts.sweep.takeMissed();
    const oldestMs = await addUnheard(-3_600_000);
    await addUnheard(-2_000);
    const begun = await begunBy(() => timeouts.sweep.takeMissed());
    expect(begun[0]).toBe(oldestMs);
    expect(await store.deadlines()).toEqual([]);
  });

  it('has claims begin where they would where nothing is overdue', async () => {
    const beforeMs = (await store.now()).getTime();
    await timeouts.runSweep();
    const begun = await begunBy(() => timeouts.runSweep());
    expect(Math.min(...begun)).toBeGreaterThanOrEqual(beforeMs);
  });
});
