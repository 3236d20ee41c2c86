import { Workers1763600010000 } from './migrations/1763600010000-workers';
import { DeadlineStore } from './testing/deadline-store';
import { listWorkers, WorkerHeartbeat } from './worker-heartbeat';

const YEAR_MS = 365 * 86_400_000;

let store: DeadlineStore;
beforeAll(async () => {
  store = await DeadlineStore.open();
  const runner = store.dataSource.createQueryRunner();
  await new Workers1763600010000().up(runner);
  await runner.release();
});
afterAll(() => store?.close());

describe("a worker's heartbeat", () => {
  it.each([
    ['behind', 20 * YEAR_MS],
    ['ahead', -3 * YEAR_MS],
  ])(
    'is heard although its machine is years %s, as without a battery',
    async (_, clockOffsetMs) => {
      const heartbeat = new WorkerHeartbeat(store.dataSource, 10_000);
      await heartbeat.beat({ timerStoreHealthy: true, clockOffsetMs });
      const [seen] = await listWorkers(store.dataSource);
      // As far as the table can say it.
      expect(Math.sign(seen?.clockOffsetMs ?? 0)).toBe(Math.sign(clockOffsetMs));
      expect(Math.abs(seen?.clockOffsetMs ?? 0)).toBeGreaterThan(86_400_000);
      await heartbeat.end();
    },
  );
});
