import { DatabaseClock } from './database-clock';
import { DeadlineStore } from './testing/deadline-store';

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

  const errorMs = async (clock: DatabaseClock): Promise<number> =>
    Math.abs(clock.nowMs() - (await store.now()).getTime());

  it('is right whatever the local clock says', async () => {
    const local = localClock();
    const clock = new DatabaseClock(store.dataSource, local);
    for (const stepMs of [0, 3_600_000, -7_200_000]) {
      local.put(stepMs);
      await clock.measure();
      expect(await errorMs(clock)).toBeLessThan(50);
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
    const measured = clock.measure();
    // Two seconds pass in the queue.
    local.put(2_000);
    for (const runner of busy) await runner.release();
    await measured;
    expect(clock.nowMs() - (await store.now()).getTime()).toBeLessThan(50);
    expect(await errorMs(clock)).toBeLessThan(50);
  });

  it('keeps what it knows when a slow round trip says nothing against it', async () => {
    const local = localClock();
    const clock = new DatabaseClock(store.dataSource, local);
    await clock.measure();
    const before = clock.nowMs() - local.nowMs();
    // The answer comes at once, and is looked at half a minute later.
    let calls = 0;
    const slow = jest.spyOn(local, 'nowMs').mockImplementation(() => {
      calls += 1;
      return Date.now() + (calls > 1 ? 30_000 : 0);
    });
    await clock.measure();
    slow.mockRestore();
    expect(Math.abs(clock.nowMs() - local.nowMs() - before)).toBeLessThan(5);
  });

  it('is not moved when this machine’s clock is set', async () => {
    const clock = new DatabaseClock(store.dataSource);
    await clock.measure();
    const set = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    const [seen, offsetMs] = [clock.nowMs(), clock.offsetMs];
    set.mockRestore();
    expect(Math.abs(seen - (await store.now()).getTime())).toBeLessThan(50);
    expect(offsetMs).toBeGreaterThan(3_599_000);
  });
});
