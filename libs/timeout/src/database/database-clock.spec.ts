import { DatabaseClock } from './database-clock';
import { DeadlineStore } from '../testing/deadline-store';

/** The store's pool: all of it busy is what a burst makes of it. */
const POOL = 8;

describe('DatabaseClock', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  /** A local clock that is right, unless a test puts it forth. */
  const localClock = () => {
    let aheadMs = 0;
    return {
      nowMs: () => Date.now() + aheadMs,
      put: (ms: number) => (aheadMs += ms),
    };
  };

  /** By how much it was surely wrong, before or after: how long the question took is no error. */
  const errorMs = async (clock: DatabaseClock): Promise<number> => {
    const beforeMs = clock.nowMs();
    const rightMs = (await store.now()).getTime();
    return Math.max(beforeMs - rightMs, rightMs - clock.nowMs(), 0);
  };

  /** Measures, and says by how much it may be wrong then: it knows no more than its round trip. */
  const measured = async (clock: DatabaseClock): Promise<number> => {
    const askedMs = performance.now();
    await clock.measure();
    return 50 + performance.now() - askedMs;
  };

  it('is right whatever the local clock says', async () => {
    const local = localClock();
    const clock = new DatabaseClock(store.dataSource, local);
    for (const stepMs of [0, 3_600_000, -7_200_000]) {
      local.put(stepMs);
      const boundMs = await measured(clock);
      expect(await errorMs(clock)).toBeLessThan(boundMs);
    }
  });

  it('takes no queueing for a connection for a part of the round trip', async () => {
    const local = localClock();
    const clock = new DatabaseClock(store.dataSource, local);
    const busy = await Promise.all(
      Array.from({ length: POOL }, async () => {
        const runner = store.dataSource.createQueryRunner();
        await runner.connect();
        return runner;
      }),
    );
    const measuring = measured(clock);
    // An hour passes in the queue.
    local.put(3_600_000);
    for (const runner of busy) await runner.release();
    const boundMs = await measuring;
    expect(await errorMs(clock)).toBeLessThan(boundMs);
  });

  it('keeps what it knows when a slow round trip says nothing against it', async () => {
    // It stands still, but where the test puts it forth: so the first round trip takes no time.
    const local = { nowMs: () => 1_000_000 };
    const clock = new DatabaseClock(store.dataSource, local);
    await clock.measure();
    const before = clock.nowMs();
    // The answer is looked at half a minute after the question, and may be from anywhere between.
    const times = [1_000_000 - 15_000, 1_000_000 + 15_000];
    const slow = jest.spyOn(local, 'nowMs').mockImplementation(() => times.shift() as number);
    await clock.measure();
    slow.mockRestore();
    expect(times).toEqual([]);
    expect(clock.nowMs()).toBe(before);
  });

  it('is not moved when this machine’s clock is set', async () => {
    const clock = new DatabaseClock(store.dataSource);
    await clock.measure();
    const beforeMs = clock.nowMs();
    const set = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    const [seenMs, offsetMs] = [clock.nowMs(), clock.offsetMs];
    set.mockRestore();
    expect(seenMs).toBeGreaterThanOrEqual(beforeMs);
    expect(seenMs).toBeLessThanOrEqual(clock.nowMs());
    expect(offsetMs).toBeGreaterThan(3_590_000);
  });
});
