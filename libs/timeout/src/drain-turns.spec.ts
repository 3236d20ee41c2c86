import { takeTurn } from './deadlines';
import { Drain, drainDefaults, type DrainOptions } from './drain';
import { DeadlineStore } from './testing/deadline-store';
import { drainParts, Effects } from './testing/drain-harness';
import { inTransaction } from './transaction';

const KIND = 'payment';
const HOUR_MS = 3_600_000;

/** Drains of one database are as good as processes of their own. */
describe('Drains in a burst', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const drain = (handler: Effects, options: Partial<DrainOptions>) =>
    new Drain(KIND, handler, drainParts(store.dataSource, KIND), { ...drainDefaults, ...options });

  /**
   * The most batches under way at once in three processes, not counting the first of each. The
   * first ones stay until as many as `wanted` are.
   */
  async function mostAtOnce(dueInMs: number, wanted: number): Promise<number> {
    await store.add(KIND, Array<number>(120).fill(dueInMs));
    const underWay = new Set<symbol>();
    let goOn = (): void => undefined;
    const enough = new Promise<void>((resolve) => (goOn = resolve));
    let most = 0;
    const handler = () => {
      let batches = 0;
      return new Effects(5, async (_, tx) => {
        if (++batches === 1) return;
        const batch = Symbol('batch');
        underWay.add(batch);
        most = Math.max(most, underWay.size);
        if (most >= wanted) goOn();
        await enough;
        // So long that another would come while it is under way, were there another.
        for (let n = 0; n < 10; n++) await tx.rows('SELECT');
        underWay.delete(batch);
      });
    };
    const patient = { drainers: 2, turnPatienceMs: Infinity };
    const counts = await Promise.all([1, 2, 3].map(() => drain(handler(), patient).run('timer')));
    expect(counts.reduce((sum, { changed }) => sum + changed, 0)).toBe(120);
    expect(await store.deadlines()).toEqual([]);
    return most;
  }

  it('share the drainers, once each has handled a batch', async () => {
    expect(await mostAtOnce(-1, 2)).toBe(2);
  });

  it('share a single drainer where all is late', async () => {
    expect(await mostAtOnce(-HOUR_MS, 1)).toBe(1);
  });

  it('rest between batches where all is late, for as long as each took', async () => {
    await store.add(KIND, Array<number>(10).fill(-HOUR_MS));
    const batches: { beganMs: number; endedMs: number }[] = [];
    const busy = new Effects(5, async (_, tx) => {
      const beganMs = performance.now();
      await tx.rows('SELECT count(*) FROM generate_series(1, 500000)');
      batches.push({ beganMs, endedMs: performance.now() });
    });
    await drain(busy, {}).run('timer');
    const [first, second] = batches as [(typeof batches)[0], (typeof batches)[0]];
    const restedMs = second.beganMs - first.endedMs;
    expect(restedMs).toBeGreaterThanOrEqual(
      Math.min(drainDefaults.targetBatchMs, first.endedMs - first.beganMs) - 1,
    );
  });

  it('go on when nobody gives a turn back', async () => {
    await store.add(KIND, Array<number>(30).fill(-1));
    await inTransaction(store.dataSource, async (hanging) => {
      expect(await takeTurn(hanging, KIND, 1)).toBe(true);
      const one = drain(new Effects(10), { drainers: 1, turnPatienceMs: 50 });
      expect(await one.run('timer')).toMatchObject({ found: 30, changed: 30 });
    });
  });

  it('have turns of their own for each kind, given back by the end of a transaction', async () => {
    await inTransaction(store.dataSource, async (tx) => {
      expect(await takeTurn(tx, KIND, 1)).toBe(true);
      await inTransaction(store.dataSource, async (other) => {
        expect(await takeTurn(other, KIND, 1)).toBe(false);
        expect(await takeTurn(other, KIND, 2)).toBe(true);
        expect(await takeTurn(other, 'closing', 1)).toBe(true);
      });
    });
    await inTransaction(store.dataSource, async (tx) =>
      expect(await takeTurn(tx, KIND, 1)).toBe(true),
    );
  });
});
