import { Drain } from './drain';
import { drainDefaults } from './drain-options';
import { LowWater } from '../deadlines/low-water';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';

const KIND = 'payment';
const BATCH = 5;
const BATCH_TAKES_MS = 10;
const COUNT = 400;
const HOUR_MS = 3_600_000;

describe('The parts of a sharded sweep', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());
  afterEach(() => jest.restoreAllMocks());

  it('are lent a twentieth together, though rings begin rounds beside them', async () => {
    await store.add(KIND, Array<number>(COUNT).fill(-10 * HOUR_MS));
    const leftToRunMs = (await store.now()).getTime();
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    let handled = 0;
    let lastAskedAt = 0;
    const parts = {
      ...drainParts(store.dataSource, KIND),
      leftToRunMs: () => leftToRunMs,
      /** Asked by each batch, as long as the backlog may give way. */
      othersWaitMs: () => {
        lastAskedAt = handled;
        return 10_000;
      },
    };
    const effects = new Effects(BATCH, async () => {
      handled += BATCH;
      nowMs += BATCH_TAKES_MS;
      // It finds nothing: all there is belongs to the sweep.
      one.signal('timer', leftToRunMs);
    });
    // A loan of 100 ms, for batches that take 10 ms on any machine; an hour later it would be 10 ms more.
    const options = { ...drainDefaults, yieldShare: 10 / HOUR_MS, targetBatchMs: BATCH_TAKES_MS };
    const one = new Drain(KIND, effects, parts, options);
    const dueAt = (await store.deadlines())[0]?.due_at as Date;
    const shard = async (from: Date, fromId: string, untilId: string): Promise<void> => {
      await one.runShard({
        runId: 'run',
        range: {
          after: { dueAt: from, subjectId: fromId },
          until: { dueAt, subjectId: untilId },
        },
        lowWater: new LowWater(),
        signal: new AbortController().signal,
        keep: async () => undefined,
      });
    };
    await shard(new Date(0), subject(0), subject(COUNT / 2 - 1));
    expect(handled).toBe(COUNT / 2);
    await shard(dueAt, subject(COUNT / 2 - 1), subject(COUNT));
    await one.idle();
    expect(handled).toBe(COUNT);
    expect(lastAskedAt).toBeGreaterThan(0);
    expect(lastAskedAt).toBeLessThan(COUNT / 2);
  });
});
