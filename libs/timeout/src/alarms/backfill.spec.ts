import { Backfill, type BackfillOptions } from './backfill';
import { DatabaseClock } from '../database/database-clock';
import { DeadlineStore } from '../testing/deadline-store';
import { HandDriver } from '../testing/hand-driver';

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
    // For them it would for longer than this test may take.
    const done = await run({ batch: 2, ratePerSecond: 100 });
    expect(done).toMatchObject({ covered: 3, waiting: 50_000, interrupted: false });
  });

  it('rests for what it arms', async () => {
    await store.add(KIND, [60_000, 61_000, 62_000]);
    const startedMs = performance.now();
    expect(await run({ batch: 2, ratePerSecond: 4 })).toMatchObject({ covered: 3 });
    expect(performance.now() - startedMs).toBeGreaterThan(450);
  });
});

describe('a backfill', () => {
  it('arms one alarm for all that is overdue, and one for each slot to come', async () => {
    await store.add(KIND, [-60_000, -50_000, -40_000, 60_000, 70_000]);
    const done = await run({ batch: 2 });
    expect(done).toMatchObject({ overdue: 3, covered: 2, alarms: 3 });
    const [, , , , last] = await store.deadlines();
    expect(done.cursor).toBe(`${KIND}/${last?.due_at.toISOString()}/${last?.subject_id}`);
  });

  it('ends behind the batch that was under way as it was told to, and goes on from there', async () => {
    await store.add(KIND, [60_000, 70_000, 80_000]);
    const ending = new AbortController();
    const { signal } = ending;
    const some = await run({ batch: 1, signal, onProgress: () => ending.abort() });
    expect(some).toMatchObject({ covered: 1, interrupted: true });
    const rest = await run({ batch: 1, resume: some.cursor });
    expect(rest).toMatchObject({ covered: 2, interrupted: false });
  });
});
