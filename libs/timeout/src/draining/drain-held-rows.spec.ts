import { DataSource, type QueryRunner } from 'typeorm';
import { until } from '../../../../test/support/until';
import { enterBatch } from './batch-entry';
import { isTableLocked } from '../database/database-errors';
import type { DeadlineHandler } from '../deadlines/deadline-handler';
import { Drain } from './drain';
import { drainDefaults } from './drain-options';
import type { TimeoutTelemetry } from '../telemetry';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { hang } from '../testing/hang';
import { inTransaction } from '../database/in-transaction';
import { Transaction } from '../database/transaction';

const KIND = 'payment';
const NOTHING = { found: 0, changed: 0, lost: 0, putBack: 0, failed: 0 };

describe('Drain, when somebody holds a row', () => {
  let store: DeadlineStore;
  /** Its sessions wait for locks for ever: how long a batch does is the batch's to say. */
  let pool: DataSource;
  let holder: QueryRunner;
  const held = subject(17);
  beforeAll(async () => {
    store = await DeadlineStore.open();
    const extra = { options: '-c lock_timeout=0', pipeline: true };
    pool = await new DataSource({ ...store.dataSource.options, extra }).initialize();
    await store.rows('CREATE TABLE things (id uuid PRIMARY KEY)');
    await store.rows('INSERT INTO things SELECT unnest($1::uuid[])', [
      Array.from({ length: 300 }, (_, index) => subject(index)),
    ]);
  });
  afterAll(async () => {
    await pool?.destroy();
    await store?.close();
  });
  beforeEach(async () => {
    await store.empty();
    holder = store.dataSource.createQueryRunner();
    await holder.startTransaction();
  });
  afterEach(() => letGo());
  const hold = (ids: readonly string[]) =>
    holder.query('SELECT FROM things WHERE id = ANY ($1::uuid[]) FOR UPDATE', [ids]);
  const letGo = async () => {
    if (holder.isTransactionActive) await holder.rollbackTransaction();
    await holder.release();
  };
  /** Needs the row of each subject. */
  const needing = () =>
    new Effects(1_000, (due, tx) =>
      tx.rows('UPDATE things SET id = id WHERE id = ANY ($1::uuid[])', [
        due.map(({ subjectId }) => subjectId),
      ]),
    );
  const draining = (handler: DeadlineHandler, told: Partial<TimeoutTelemetry> = {}) =>
    new Drain(KIND, handler, drainParts(pool, KIND, told), { ...drainDefaults, drainers: 1 });
  const effects = () => store.rows<{ subject_id: string }>('SELECT subject_id FROM effects');
  const makeDue = () => store.rows(`UPDATE deadlines SET due_at = now() - interval '1 second'`);

  it('delays those who need it, and nobody else', async () => {
    await store.add(KIND, Array<number>(100).fill(-1_000));
    await hold([held]);
    const failed: number[] = [];
    const handler = needing();
    const one = draining(handler, { batchFailed: (_, size) => void failed.push(size) });
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 100, changed: 99, putBack: 1 });
    expect(failed).toEqual([100, 1]);
    expect((await effects()).map(({ subject_id: id }) => id)).not.toContain(held);
    // Nothing counts against it, however often it is tried: then, alone and after all others.
    for (let round = 0; round < 10; round++) {
      await makeDue();
      handler.batches.length = 0;
      await store.add(KIND, [-1_000]);
      await one.run('timer');
      expect(handler.batches).toEqual([[subject(0)], [held]]);
    }
    expect(await store.deadlines()).toMatchObject([{ subject_id: held, failures: 0 }]);
    expect(await store.rows('SELECT FROM held_deadlines')).toEqual([]);
    expect(one.standsStill).toBe(false);
    await letGo();
    await makeDue();
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 1, changed: 1 });
  });

  it('is looked at again later and later, but soon', async () => {
    await store.add(KIND, [-1_000]);
    await hold([subject(0)]);
    const one = draining(needing());
    for (const pauseMs of [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
      // The database's clock is this machine's.
      const beganMs = Date.now();
      await one.run('timer');
      const endedMs = Date.now();
      const [left] = await store.deadlines();
      expect(left?.due_at.getTime()).toBeGreaterThanOrEqual(beganMs + pauseMs);
      expect(left?.due_at.getTime()).toBeLessThanOrEqual(endedMs + pauseMs);
      await makeDue();
    }
  });

  it('that all need is not waited for by each', async () => {
    await store.add(KIND, Array<number>(300).fill(-1_000));
    await hold(Array.from({ length: 300 }, (_, index) => subject(index)));
    const handler = needing();
    const one = draining(handler);
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 300, putBack: 300 });
    expect(handler.batches.length).toBeLessThan(260);
    expect(one.standsStill).toBe(false);
    await letGo();
    await makeDue();
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 300, changed: 300 });
  });

  describe('and many of them', () => {
    const all = Array.from({ length: 1_000 }, (_, index) => subject(index));
    const [everySecond, others] = [0, 1].map((rest) => all.filter((_, at) => at % 2 === rest)) as [
      string[],
      string[],
    ];
    beforeAll(() =>
      store.rows('INSERT INTO things SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING', [all]),
    );
    /** What is put off stays so until a test makes it due: by a clock that is ahead. */
    const AHEAD_MS = 1_800_000;
    const draining = (handler: DeadlineHandler) =>
      new Drain(
        KIND,
        handler,
        {
          ...drainParts(pool, KIND),
          clock: { nowMs: () => Date.now() + AHEAD_MS },
        },
        { ...drainDefaults, drainers: 1 },
      );
    const effectsOf = async () => (await effects()).map(({ subject_id: id }) => id).sort();

    it('lets the others pass within a few rounds, and closes all once one is seen to be free', async () => {
      await store.add(KIND, Array<number>(all.length).fill(-1_000));
      await hold(everySecond);
      const one = draining(needing());
      for (let round = 0; round < 3; round++) {
        await makeDue();
        await one.run('timer');
      }
      expect(await effectsOf()).toEqual([...others].sort());
      expect(one.standsStill).toBe(false);
      await letGo();
      await store.rows(
        'UPDATE deadlines SET due_at = now() WHERE subject_id = (SELECT subject_id FROM deadlines LIMIT 1)',
      );
      await one.run('timer');
      expect(await store.deadlines()).toEqual([]);
      expect(await effectsOf()).toEqual([...all].sort());
    });
  });

  it('which is another batch of the kind, waits for its turn, and puts nobody aside', async () => {
    await store.add(KIND, Array<number>(1_500).fill(-1_000));
    let [isKnown, isFirst, failed, begun] = [(): void => undefined, true, 0, 0];
    /** The other has failed a second time, or asks for a turn again and again. */
    const known = new Promise<void>((resolve) => (isKnown = resolve));
    const handler = new Effects(500, async (_due, tx) => {
      await tx.rows('UPDATE things SET id = id WHERE id = $1', [subject(0)]);
      if (isFirst) {
        isFirst = false;
        await known;
      }
    });
    // As two processes: each has its own.
    const parts = drainParts(pool, KIND, { batchFailed: () => ++failed === 2 && isKnown() });
    jest.spyOn(parts.brake, 'covers').mockImplementation(() => {
      if (failed > 0 && ++begun === 10) isKnown();
      return false;
    });
    const [one, other] = [0, 1].map(() => new Drain(KIND, handler, parts, drainDefaults)) as [
      Drain,
      Drain,
    ];
    const counts = await Promise.all([one.run('timer'), other.run('timer')]);
    expect(counts.map(({ putBack }) => putBack)).toEqual([0, 0]);
    expect(counts.reduce((sum, { changed }) => sum + changed, 0)).toBe(1_500);
    expect(handler.batches.every(({ length }) => length > 1)).toBe(true);
    expect(await store.deadlines()).toEqual([]);
  });

  it('which a batch of the kind has that does not go on, delays those who need it, and nobody else', async () => {
    await store.add(KIND, Array<number>(100).fill(-1_000));
    await enterBatch(new Transaction(holder), KIND, 1, []);
    await hold([held]);
    const end = await hang(holder, store);
    const one = new Drain(KIND, needing(), drainParts(pool, KIND), drainDefaults);
    const underWay = one.run('timer');
    await until('the others are handled', async () => (await effects()).length === 99).finally(
      () => {
        one.stop();
        return end();
      },
    );
    expect(await underWay).toEqual({ ...NOTHING, found: 100, changed: 99, putBack: 1 });
  });

  it.each([[[]], [['LOCK TABLE held_deadlines']]])(
    'is told from a table by what Postgres says, and by no NOWAIT, also beside %j',
    async (beside) => {
      const asking = (sql: string) =>
        inTransaction(store.dataSource, async (tx) => {
          await tx.rows('SET LOCAL lock_timeout = 1');
          return tx.rows(sql);
        }).then(
          () => 'free',
          (error: unknown) => isTableLocked(error),
        );
      await hold([held]);
      // Then it is not told from a table by what is locked at all.
      for (const lock of beside) await holder.query(lock);
      const one = `id = '${held}'`;
      expect(await asking(`UPDATE things SET id = id WHERE ${one}`)).toBe(false);
      expect(await asking(`SELECT FROM things WHERE ${one} FOR UPDATE NOWAIT`)).toBe(false);
      expect(await asking(`INSERT INTO things SELECT gen_random_uuid()`)).toBe('free');
      await holder.query('SELECT pg_advisory_xact_lock(7, 7)');
      expect(await asking('SELECT pg_advisory_xact_lock(7, 7)')).toBe(false);
      await holder.query('LOCK TABLE things IN SHARE MODE');
      expect(await asking(`INSERT INTO things SELECT gen_random_uuid()`)).toBe(true);
      await letGo();
    },
  );

  it('or a whole table, tells of it, puts nobody aside, and handles all as a whole once it is free', async () => {
    await store.add(KIND, Array<number>(300).fill(-1_000));
    await holder.query('LOCK TABLE things IN SHARE MODE');
    const handler = needing();
    const one = draining(handler);
    const before = await store.deadlines();
    for (let round = 0; round < 3; round++) {
      await expect(one.run('timer')).rejects.toThrow('A table is locked');
    }
    expect(await store.deadlines()).toEqual(before);
    expect(one.standsStill).toBe(false);
    await letGo();
    handler.batches.length = 0;
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 300, changed: 300 });
    expect(handler.batches).toHaveLength(1);
  });
});
