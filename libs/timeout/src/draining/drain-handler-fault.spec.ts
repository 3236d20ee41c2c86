import { until } from '../../../../test/support/until';
import type { DeadlineHandler, DueDeadline } from '../deadlines/deadline-handler';
import { Drain } from './drain';
import { drainDefaults } from './drain-options';
import type { TimeoutTelemetry } from '../telemetry';
import { DeadlineStore } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import type { Transaction } from '../database/transaction';

const KIND = 'payment';
const ROUNDS = 8;

describe('Drain, when the handler is to blame', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());
  afterEach(() => jest.restoreAllMocks());

  const told: string[] = [];
  beforeEach(() => void (told.length = 0));
  const telemetry: Partial<TimeoutTelemetry> = {
    handlerFails: (_, error) => void told.push(String(error)),
    handlerWorks: () => void told.push('works'),
    deadlineHeld: () => void told.push('held'),
  };
  const drains: Drain[] = [];
  const drain = (before: (due: readonly DueDeadline[], tx: Transaction) => Promise<unknown>) => {
    const parts = drainParts(store.dataSource, KIND, telemetry);
    const options = { ...drainDefaults, drainers: 1 };
    const one = new Drain(KIND, new Effects(4_000, before), parts, options);
    drains.push(one);
    return one;
  };
  /** Else they would probe among the next test's deadlines. */
  afterEach(async () => {
    for (const one of drains) one.stop();
    await Promise.all(drains.splice(0).map((one) => one.idle()));
  });
  const insert = (count: number) =>
    store.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT $1, now() - interval '1 minute', gen_random_uuid() FROM generate_series(1, $2::int)`,
      [KIND, count],
    );
  const failures = () =>
    store.rows<{ failures: number; n: number }>(
      'SELECT failures, count(*)::int AS n FROM deadlines GROUP BY failures ORDER BY failures',
    );
  const makeDue = () => store.rows(`UPDATE deadlines SET due_at = now() - interval '1 second'`);
  let nowMs: number;
  /** The time until the next probe passes, and no other: a probe that comes by itself finds that it has to wait. */
  const pass = (ms: number): void => void (nowMs += ms);
  beforeEach(() => {
    nowMs = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });

  it.each([
    ['a type error', () => Promise.reject(new TypeError("reading 'lines' of undefined"))],
    ['a table that is gone', (_: unknown, tx: Transaction) => tx.rows('SELECT * FROM orderz')],
  ])('holds nobody for %s, stops, and goes on by itself once it is mended', async (_, bug) => {
    await insert(200);
    let isMended = false;
    const one = drain(async (due, tx) => (isMended ? undefined : bug(due, tx)));
    for (let round = 0; round < ROUNDS; round++) {
      await one.run('timer');
      await makeDue();
      pass(10_001);
    }
    expect(one.standsStill).toBe(true);
    expect(await failures()).toEqual([{ failures: 0, n: 200 }]);
    expect(await store.rows('SELECT FROM held_deadlines')).toEqual([]);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/lines|orderz/);
    isMended = true;
    await one.idle();
    pass(10_001);
    await one.run('sweep');
    expect(await store.deadlines()).toEqual([]);
    expect(await store.rows('SELECT FROM effects')).toHaveLength(200);
    expect(told.at(-1)).toBe('works');
  });

  it('tries nothing before the next probe is due, however often it rings', async () => {
    await insert(200);
    const batches: number[] = [];
    const one = drain(async (due) => {
      batches.push(due.length);
      throw new TypeError('bug');
    });
    await one.run('timer');
    const tries = batches.length;
    for (let ring = 0; ring < 20; ring++) await one.run('timer');
    expect(batches).toHaveLength(tries);
    // A few, found in a few steps: not all of them.
    expect(tries).toBeLessThan(40);
  });

  it('probes by itself when its wait is over, and goes on, though nobody rings', async () => {
    await insert(10);
    let isBroken = true;
    const one = drain(async () => {
      if (isBroken) throw new TypeError('bug');
    });
    await one.run('timer');
    expect(one.standsStill).toBe(true);
    isBroken = false;
    await insert(200);
    one.signal('timer', 0);
    await one.idle();
    expect(await store.rows('SELECT FROM effects')).toEqual([]);
    jest.restoreAllMocks();
    await until('all are handled', async () => (await store.deadlines()).length === 0);
    expect(await store.rows('SELECT FROM effects')).toHaveLength(210);
    expect(told.at(-1)).toBe('works');
  });

  it('probes no more once it is stopped', async () => {
    await insert(10);
    const one = drain(() => Promise.reject(new TypeError('bug')));
    await one.run('timer');
    const clear = jest.spyOn(globalThis, 'clearTimeout');
    const set = jest.spyOn(globalThis, 'setTimeout');
    one.stop();
    expect(clear.mock.calls.filter(([timer]) => timer !== undefined)).toHaveLength(1);
    await one.run('timer');
    expect(set).not.toHaveBeenCalled();
  });

  it('takes many poisoned at once for what they are, as soon as others are due', async () => {
    await insert(60);
    const poisoned = new Set((await store.deadlines()).map(({ subject_id: id }) => id));
    const one = drain(async (due) => {
      if (due.some(({ subjectId }) => poisoned.has(subjectId))) throw new Error('poison');
    });
    await one.run('timer');
    expect(one.standsStill).toBe(true);
    await store.rows(
      // Rounded to milliseconds: now() might be a moment away.
      `INSERT INTO deadlines (kind, due_at, subject_id)
       VALUES ($1, now() - interval '1 millisecond', gen_random_uuid())`,
      [KIND],
    );
    pass(10_001);
    await one.run('timer');
    expect(await store.rows('SELECT FROM effects')).toHaveLength(1);
    expect(one.standsStill).toBe(false);
    await one.run('timer');
    // Each has failed; one may be due again already, and have failed twice.
    const counts = await failures();
    expect(counts.reduce((sum, { n }) => sum + n, 0)).toBe(60);
    expect(counts[0]?.failures).toBeGreaterThanOrEqual(1);
  });
});

describe('Drain, when some of very many are poisoned', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  const COUNT = 20_000;
  const MAX_BATCH = 4_000;
  const poisonedOf = (share: number) => (due: readonly DueDeadline[]) =>
    due.some(({ subjectId }) => parseInt(subjectId.slice(-4), 16) < share * 0x10000)
      ? Promise.reject(new Error('poison'))
      : Promise.resolve();

  /** Drains all of them with so many poisoned: how often the handler was asked, and how many failed. */
  async function drain(share: number): Promise<{ tries: number; failed: number }> {
    await store.empty();
    await store.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT $1, now() - interval '1 second', gen_random_uuid() FROM generate_series(1, $2::int)`,
      [KIND, COUNT],
    );
    const check = poisonedOf(share);
    let tries = 0;
    const handler: DeadlineHandler = {
      maxBatch: MAX_BATCH,
      lockKey: () => undefined,
      handle: async (due) => {
        // What has failed comes back, the more often the longer this takes: that is not counted.
        if (due.some(({ failures }) => failures === 0)) tries += 1;
        await check(due);
        return { changed: due.length, lost: 0 };
      },
    };
    const one = new Drain(KIND, handler, drainParts(store.dataSource, KIND), drainDefaults);
    const { changed } = await one.run('timer');
    const failed = (await store.deadlines()).length;
    // Those that failed may have come back meanwhile, and failed again.
    expect(changed + failed).toBe(COUNT);
    return { tries, failed };
  }

  it('finds each by halving: fewer tries than the logarithm of a batch, however many there are', async () => {
    const clean = await drain(0);
    const poisoned = await drain(0.02);
    expect(poisoned.failed).toBeGreaterThan(COUNT / 100);
    const triesOfEach = (poisoned.tries - clean.tries) / poisoned.failed;
    expect(triesOfEach).toBeLessThan(Math.log2(MAX_BATCH));
  });
});
