import { every, type Turns } from './every';

const SECOND = 1_000;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Work that ends when it is told to, and remembers how often it began. */
class Work {
  begun = 0;
  readonly errors: unknown[] = [];
  #end: { resolve: () => void; reject: (error: unknown) => void } | undefined;
  stopping: AbortSignal | undefined;

  readonly runOnce = (stopping: AbortSignal): Promise<void> => {
    this.begun += 1;
    this.stopping = stopping;
    return new Promise((resolve, reject) => (this.#end = { resolve, reject }));
  };

  readonly onError = (error: unknown): void => void this.errors.push(error);

  async end(error?: Error): Promise<void> {
    if (error) this.#end?.reject(error);
    else this.#end?.resolve();
    await jest.advanceTimersByTimeAsync(0);
  }
}

function everySecond(work: Work, firstAfterMs?: number): Turns {
  const { runOnce, onError } = work;
  return every(SECOND, runOnce, {
    onError,
    ...(firstAfterMs === undefined ? {} : { firstAfterMs }),
  });
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('every', () => {
  it('takes the first turn after one interval, or when told to', async () => {
    const [later, atOnce] = [new Work(), new Work()];
    everySecond(later);
    everySecond(atOnce, 0);
    await pass(SECOND - 1);
    expect([later.begun, atOnce.begun]).toEqual([0, 1]);
    await pass(1);
    expect(later.begun).toBe(1);
  });

  it('leaves out the turns that come up while one is under way', async () => {
    const work = new Work();
    everySecond(work, 0);
    await pass(5.5 * SECOND);
    expect(work.begun).toBe(1);
    await work.end();
    expect(work.begun).toBe(1);
    await pass(0.5 * SECOND);
    expect(work.begun).toBe(2);
  });

  it('tells of a turn that failed, and takes the next', async () => {
    const work = new Work();
    everySecond(work, 0);
    await pass(0);
    await work.end(new Error('no database'));
    expect(work.errors).toEqual([new Error('no database')]);
    await pass(SECOND);
    expect(work.begun).toBe(2);
  });

  it('survives work that throws before it returns a promise', async () => {
    const work = new Work();
    const breaks = (): never => {
      work.begun += 1;
      throw new Error('a bug');
    };
    every(SECOND, breaks, { onError: work.onError });
    await pass(2 * SECOND);
    expect(work.begun).toBe(2);
    expect(work.errors).toHaveLength(2);
  });

  it.each([-3_600_000, 3_600_000])(
    'keeps its pace when the clock is set by %d ms',
    async (byMs) => {
      const work = new Work();
      everySecond(work);
      await pass(SECOND);
      await work.end();
      jest.setSystemTime(Date.now() + byMs);
      await pass(SECOND - 1);
      expect(work.begun).toBe(1);
      await pass(1);
      expect(work.begun).toBe(2);
    },
  );

  it('stops when the turn under way, told so, has ended', async () => {
    const work = new Work();
    const turns = everySecond(work, 0);
    await pass(0);
    let hasStopped = false;
    const stopped = turns.stop().then(() => (hasStopped = true));
    await pass(5 * SECOND);
    expect(work.stopping?.aborted).toBe(true);
    expect(hasStopped).toBe(false);
    await work.end();
    await stopped;
    await pass(5 * SECOND);
    expect(work.begun).toBe(1);
  });

  it('stops before its first turn', async () => {
    const work = new Work();
    await everySecond(work, 0).stop();
    await pass(SECOND);
    expect(work.begun).toBe(0);
  });
});
