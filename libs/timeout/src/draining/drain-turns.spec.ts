import { until } from '../../../../test/support/until';
import { enterBatch } from './batch-entry';
import { Drain } from './drain';
import { drainDefaults, type DrainOptions } from './drain-options';
import { DeadlineStore } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { Gate } from '../testing/gate';
import { hang } from '../testing/hang';
import { inTransaction } from '../database/in-transaction';
import { Transaction } from '../database/transaction';

const KIND = 'payment';

/** Drains of one database are as good as processes of their own. */
describe('Drains of several processes', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const drain = (handler: Effects, options: Partial<DrainOptions>) =>
    new Drain(KIND, handler, drainParts(store.dataSource, KIND), { ...drainDefaults, ...options });

  const hasTurn = async (tx: Transaction, kind: string, turns: number): Promise<boolean> =>
    (await enterBatch(tx, kind, turns, [])).hasTurn;

  /** The most batches under way at once in eight processes, which all find a burst. */
  async function mostAtOnce(drainers: number): Promise<number> {
    await store.add(KIND, Array<number>(400).fill(-1));
    let underWay = 0;
    let most = 0;
    const gate = new Gate();
    const handler = () =>
      new Effects(5, async (_, tx) => {
        most = Math.max(most, ++underWay);
        // The first of them wait for each other.
        if (underWay === drainers) gate.open();
        await gate.pass();
        // So long that others would come while it is under way, were there others.
        for (let n = 0; n < 5; n++) await tx.rows('SELECT');
        underWay -= 1;
      });
    const counts = await Promise.all(
      Array.from({ length: 8 }, () => drain(handler(), { drainers }).run('timer')),
    );
    expect(counts.reduce((sum, { changed }) => sum + changed, 0)).toBe(400);
    expect(await store.deadlines()).toEqual([]);
    return most;
  }

  it.each([1, 2, 4])('have %s batches under way at once, from the first one on', async (turns) => {
    expect(await mostAtOnce(turns)).toBe(turns);
  });

  it('wait for a turn as long as it takes, and go on when its holder is gone', async () => {
    await store.add(KIND, Array<number>(30).fill(-1));
    const one = drain(new Effects(10), { drainers: 1 });
    let refused = 0;
    const refusals = new Promise<void>((resolve) => {
      const { createQueryRunner } = store.dataSource;
      jest.spyOn(store.dataSource, 'createQueryRunner').mockImplementation((...args) => {
        if (++refused === 20) resolve();
        return createQueryRunner.apply(store.dataSource, args);
      });
    });
    const round = await inTransaction(store.dataSource, async (tx) => {
      expect(await hasTurn(tx, KIND, 1)).toBe(true);
      const underWay = one.run('timer');
      await refusals;
      expect(await tx.rows('SELECT FROM effects')).toHaveLength(0);
      return { underWay };
    });
    jest.restoreAllMocks();
    expect(await round.underWay).toMatchObject({ found: 30, changed: 30 });
  });

  it.each([
    ['late', -10_000],
    ['due now', -1],
  ])('leave others the rest of the turns for a while only, of what is %s', async (_, dueInMs) => {
    await store.add(KIND, Array<number>(1_100).fill(dueInMs));
    const parts = { ...drainParts(store.dataSource, KIND), othersWaitMs: () => 60 };
    const one = new Drain(KIND, new Effects(), parts, { ...drainDefaults, drainers: 2 });
    await inTransaction(store.dataSource, async (tx) => {
      expect(await hasTurn(tx, KIND, 1)).toBe(true);
      const underWay = one.run('timer');
      const isDone = async (): Promise<boolean> => {
        // It goes on, so there is no other beside it.
        await tx.rows('SELECT');
        return (await store.deadlines()).length === 0;
      };
      await until('all is handled', isDone).finally(() => one.stop());
      expect(await underWay).toMatchObject({ found: 1_100, changed: 1_100 });
    });
  });

  it.each([1, 2])('go on where sessions that hang have all %s turns', async (drainers) => {
    await store.add(KIND, Array<number>(300).fill(-1_000));
    const hanging = Array.from({ length: drainers }, () => store.dataSource.createQueryRunner());
    const ends: (() => Promise<void>)[] = [];
    const one = drain(new Effects(100), { drainers });
    try {
      for (const session of hanging) {
        await session.startTransaction();
        expect(await hasTurn(new Transaction(session), KIND, drainers)).toBe(true);
        ends.push(await hang(session, store));
      }
      const underWay = one.run('timer');
      await until('all is handled', async () => (await store.deadlines()).length === 0).finally(
        () => one.stop(),
      );
      expect(await underWay).toMatchObject({ found: 300, changed: 300 });
    } finally {
      for (const end of ends) await end();
      for (const session of hanging) {
        await session.rollbackTransaction();
        await session.release();
      }
    }
  });

  it.each([
    [1, 0],
    [2, 0],
    [2, 60],
  ])(
    'go on with what rings while their own %s batches hang, and others wait %s ms',
    async (drainers, waitMs) => {
      await store.add(KIND, Array<number>(drainers).fill(-1_000));
      const gate = store.dataSource.createQueryRunner();
      await gate.query('SELECT pg_advisory_lock(7, 7)');
      let hanging = 0;
      const handler = new Effects(1, async (_, tx) => {
        if (hanging === drainers) return;
        hanging += 1;
        await tx.rows('SET LOCAL lock_timeout = 0');
        await tx.rows('SELECT pg_advisory_xact_lock_shared(7, 7)');
      });
      let othersWaitMs = 0;
      const parts = { ...drainParts(store.dataSource, KIND), othersWaitMs: () => othersWaitMs };
      const one = new Drain(KIND, handler, parts, { ...drainDefaults, drainers });
      const underWay = one.run('timer');
      try {
        await until('all hang', () => hanging === drainers);
        othersWaitMs = waitMs;
        await store.rows(
          `INSERT INTO deadlines (kind, due_at, subject_id)
         SELECT $1, now() - interval '1 s', gen_random_uuid() FROM generate_series(1, 30)`,
          [KIND],
        );
        // It rings once, soon after: nobody has to ring again.
        one.signal('timer', Date.now() - 2_000);
        await until(
          'the others are handled',
          async () => (await store.rows('SELECT FROM effects')).length === 30,
        );
      } finally {
        await gate.query('SELECT pg_advisory_unlock(7, 7)');
        await gate.release();
      }
      expect(await underWay).toMatchObject({ found: 30 + drainers, changed: 30 + drainers });
      await one.idle();
    },
  );

  it('have turns of their own for each installation in one database', async () => {
    await store.rows('CREATE SCHEMA neighbour');
    await inTransaction(store.dataSource, async (tx) => {
      expect(await hasTurn(tx, KIND, 1)).toBe(true);
      await inTransaction(store.dataSource, async (other) => {
        await other.rows('SET LOCAL search_path = neighbour');
        expect(await hasTurn(other, KIND, 1)).toBe(true);
      });
    });
  });

  it('have turns of their own for each kind, given back by the end of a transaction', async () => {
    await inTransaction(store.dataSource, async (tx) => {
      expect(await hasTurn(tx, KIND, 1)).toBe(true);
      await inTransaction(store.dataSource, async (other) => {
        expect(await hasTurn(other, KIND, 1)).toBe(false);
        expect(await hasTurn(other, KIND, 2)).toBe(true);
        expect(await hasTurn(other, 'closing', 1)).toBe(true);
      });
    });
    await inTransaction(store.dataSource, async (tx) =>
      expect(await hasTurn(tx, KIND, 1)).toBe(true),
    );
  });
});
