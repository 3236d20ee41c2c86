import { DeadlineStore } from '../testing/deadline-store';
import { listWorkers, WorkerHeartbeat } from './worker-heartbeat';

const YEAR_MS = 365 * 86_400_000;

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());

describe("a worker's heartbeat", () => {
  it.each([
    ['behind', 20 * YEAR_MS],
    ['ahead', -3 * YEAR_MS],
  ])(
    'is heard although its machine is years %s, as without a battery',
    async (_, clockOffsetMs) => {
      const heartbeat = new WorkerHeartbeat(store.dataSource, 10_000);
      await heartbeat.beat({ timerStoreHealthy: true, clockOffsetMs, stoppedKinds: [] });
      const [seen] = await listWorkers(store.dataSource);
      // As far as the table can say it.
      expect(Math.sign(seen?.clockOffsetMs ?? 0)).toBe(Math.sign(clockOffsetMs));
      expect(Math.abs(seen?.clockOffsetMs ?? 0)).toBeGreaterThan(86_400_000);
      await heartbeat.end();
    },
  );

  it('is heard while somebody holds the row of a worker that is long gone', async () => {
    const health = { timerStoreHealthy: true, clockOffsetMs: 0, stoppedKinds: [] };
    await new WorkerHeartbeat(store.dataSource, 10_000).beat(health);
    await store.rows(`UPDATE workers SET swept_at = now() - interval '2 days'`);
    const dba = store.dataSource.createQueryRunner();
    await dba.startTransaction();
    await dba.query('SELECT FROM workers FOR UPDATE');
    await store.impatiently(async (dataSource) => {
      const heartbeat = new WorkerHeartbeat(dataSource, 10_000);
      await heartbeat.beat(health);
      expect(await listWorkers(store.dataSource)).toHaveLength(2);
      await dba.rollbackTransaction();
      await heartbeat.beat(health);
      expect(await listWorkers(store.dataSource)).toHaveLength(1);
      await heartbeat.end();
    });
    await dba.release();
  });

  it('is not taken of one that was killed while the clock was ahead, and goes on for one that was not', async () => {
    const health = { timerStoreHealthy: true, clockOffsetMs: 0, stoppedKinds: [] };
    const heartbeat = new WorkerHeartbeat(store.dataSource, 10_000);
    await heartbeat.beat(health);
    await new WorkerHeartbeat(store.dataSource, 10_000).beat(health);
    await store.rows(`UPDATE workers SET swept_at = now() + interval '1 day'`);
    expect(await listWorkers(store.dataSource)).toEqual([]);
    await heartbeat.beat(health);
    expect(await listWorkers(store.dataSource)).toHaveLength(1);
    expect(await store.rows('SELECT FROM workers')).toHaveLength(1);
    await heartbeat.end();
  });
});
