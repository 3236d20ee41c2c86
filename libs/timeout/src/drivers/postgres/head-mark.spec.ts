import { HeadMark } from './head-mark';

const NOW_MS = 1_000_000;

describe('HeadMark', () => {
  let elapsedMs: number;
  let mark: HeadMark;
  beforeEach(async () => {
    elapsedMs = 0;
    mark = new HeadMark({ nowMs: () => NOW_MS + elapsedMs }, () => elapsedMs);
    // Of everything, and of what may have come late: both have had their turn.
    await lookAndFind(0);
    await lookAndFind(0);
  });

  /** Where a look begins that finds its first alarm at this instant. */
  async function lookAndFind(headMs: number): Promise<number> {
    let beganMs = NaN;
    await mark.look(async (fromMs) => {
      beganMs = fromMs;
      return headMs;
    });
    return beganMs;
  }

  it('begins where the first alarm was, or after all where there was none', async () => {
    await lookAndFind(NOW_MS + 500);
    expect(await lookAndFind(Infinity)).toBe(NOW_MS + 500);
    expect(await lookAndFind(Infinity)).toBe(Infinity);
  });

  it('begins a little earlier ten times a second, for what it has not heard of', async () => {
    await lookAndFind(NOW_MS + 5_000);
    elapsedMs += 100;
    expect(await lookAndFind(NOW_MS + 5_000)).toBe(NOW_MS + elapsedMs - 2_000);
    expect(await lookAndFind(NOW_MS + 5_000)).toBe(NOW_MS + 5_000);
  });

  it('looks at everything twice a minute', async () => {
    await lookAndFind(NOW_MS + 60_000);
    elapsedMs += 30_000;
    expect(await lookAndFind(NOW_MS + 60_000)).toBe(-Infinity);
    expect(await lookAndFind(NOW_MS + 60_000)).toBe(NOW_MS + elapsedMs - 2_000);
    expect(await lookAndFind(NOW_MS + 60_000)).toBe(NOW_MS + 60_000);
  });

  it('keeps what a look from earlier on has found, also from those under way', async () => {
    await lookAndFind(NOW_MS + 500);
    let answer: (headMs: number) => void = () => undefined;
    const underWay = mark.look(() => new Promise((resolve) => (answer = resolve)));
    elapsedMs += 100;
    await lookAndFind(NOW_MS + 50);
    answer(NOW_MS + 500);
    await underWay;
    expect(mark.fromMs).toBe(NOW_MS + 50);
  });

  it('is where it was when a look has failed', async () => {
    await lookAndFind(NOW_MS + 500);
    elapsedMs += 30_000;
    await expect(mark.look(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(mark.fromMs).toBe(NOW_MS + 500);
  });
});
