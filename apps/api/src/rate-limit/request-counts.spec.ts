import { RequestCounts } from './request-counts';

const MINUTE_MS = 60_000;

describe('RequestCounts', () => {
  let now = 1_020_000;
  const countsAt = () => new RequestCounts(() => now);
  beforeEach(() => (now = 1_020_000));

  it('lets the limit through and blocks the next, until the window ends', async () => {
    const counts = countsAt();
    const ask = () => counts.increment('ann', MINUTE_MS, 2);
    expect((await ask()).isBlocked).toBe(false);
    expect((await ask()).isBlocked).toBe(false);
    now += 20_000;
    expect(await ask()).toMatchObject({ isBlocked: true, timeToBlockExpire: 40 });
    now += 40_000;
    expect((await ask()).isBlocked).toBe(false);
  });

  it('counts each key alone', async () => {
    const counts = countsAt();
    await counts.increment('ann', MINUTE_MS, 1);
    expect((await counts.increment('ann', MINUTE_MS, 1)).isBlocked).toBe(true);
    expect((await counts.increment('bob', MINUTE_MS, 1)).isBlocked).toBe(false);
  });

  it('forgets keys whose window has ended', async () => {
    const counts = countsAt();
    for (let i = 0; i < 100; i++) await counts.increment(`customer ${i}`, MINUTE_MS, 1);
    expect(counts.size).toBe(100);
    now += MINUTE_MS;
    await counts.increment('ann', MINUTE_MS, 1);
    expect(counts.size).toBe(1);
  });

  it('holds a bounded number of keys, whoever floods it: who was counted first gives way', async () => {
    const counts = countsAt();
    const ask = (key: string) => counts.increment(key, MINUTE_MS, 1);
    await ask('ann');
    for (let i = 0; i < 150_500; i++) void ask(`address ${i}`);
    expect(counts.size).toBe(100_000);
    expect((await ask('address 150499')).isBlocked).toBe(true);
    expect((await ask('ann')).isBlocked).toBe(false);
    expect((await ask('ann')).isBlocked).toBe(true);
    expect(counts.size).toBe(100_000);
  });

  it('blocks nobody for longer than a window after its clock was a day ahead', async () => {
    const counts = countsAt();
    const ask = () => counts.increment('ann', MINUTE_MS, 1);
    now += 24 * 60 * MINUTE_MS;
    await ask();
    await ask();
    now -= 24 * 60 * MINUTE_MS;
    // What was counted then is told to nobody: the others have no such window.
    expect(counts.takeUntold(10)).toEqual([]);
    expect(await ask()).toMatchObject({ isBlocked: false, totalHits: 1 });
    expect(await ask()).toMatchObject({ isBlocked: true, timeToBlockExpire: 60 });
    now += MINUTE_MS;
    expect((await ask()).isBlocked).toBe(false);
  });

  it('goes on where its clock is set back, and forgets all the same', async () => {
    const counts = countsAt();
    const ask = (key: string) => counts.increment(key, MINUTE_MS, 1);
    await ask('ann');
    now -= MINUTE_MS;
    await ask('bob');
    now += MINUTE_MS;
    expect((await ask('bob')).isBlocked).toBe(false);
    expect((await ask('bob')).isBlocked).toBe(true);
    expect((await ask('ann')).isBlocked).toBe(true);
    now += MINUTE_MS;
    expect((await ask('ann')).isBlocked).toBe(false);
    expect(counts.size).toBe(1);
  });
});
