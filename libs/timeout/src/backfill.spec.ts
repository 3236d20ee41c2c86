import { Backfill, type BackfillOptions } from './backfill';
import { DatabaseClock } from './database-clock';
import { DeadlineStore } from './testing/deadline-store';
import { HandDriver } from './testing/hand-driver';

const [KIND, NEXT] = ['payment', 'receipt'];
const HOUR_MS = 3_600_000;

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
beforeEach(() => store.empty());

function run(options: BackfillOptions) {
  const { dataSource } = store;
  const clock = new DatabaseClock(dataSource);
  const parts = { dataSource, clock, driver: new HandDriver(), kinds: [KIND, NEXT], rings: true };
  return new Backfill({ ...parts, granularity: 100, horizonMs: HOUR_MS }).run(options);
}

describe('a backfill with a rate', () => {
  it('does not rest for what waits beyond the horizon, which it only counts', async () => {
    await store.add(KIND, Array<number>(50_000).fill(2 * HOUR_MS));
    await store.add(NEXT, [60_000, 61_000, 62_000]);
    const startedMs = performance.now();
    const done = await run({ batch: 2, ratePerSecond: 1_000 });
    expect(done).toMatchObject({ covered: 3, waiting: 50_000, interrupted: false });
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  }, 120_000);

  it('rests for what it arms', async () => {
    await store.add(KIND, [60_000, 61_000, 62_000]);
    const startedMs = performance.now();
    expect(await run({ batch: 2, ratePerSecond: 4 })).toMatchObject({ covered: 3 });
    expect(performance.now() - startedMs).toBeGreaterThan(450);
  });
});
