import { MANY } from './handled-apart';
import { HandlerHealth } from './handler-health';

const ERROR = new Error('relation "orders" does not exist');

function health() {
  const clock = { nowMs: 1_000_000 };
  const told: string[] = [];
  const one = new HandlerHealth(
    'payment',
    {
      handlerFails: (kind, error) => void told.push(`${kind} fails: ${String(error)}`),
      handlerWorks: (kind) => void told.push(`${kind} works`),
    },
    () => clock.nowMs,
  );
  const fail = (fresh: number, worn = false): void =>
    one.learn({ succeeded: 0, fresh, worn }, ERROR);
  const succeed = (): void => one.learn({ succeeded: 1, fresh: 0, worn: false }, undefined);
  return { one, clock, told, fail, succeed };
}

describe('HandlerHealth', () => {
  it('stops when many fail for the first time and none succeeds, one after the other too', () => {
    const { one, told, fail, succeed } = health();
    for (let n = 1; n < MANY; n++) fail(1);
    succeed();
    for (let n = 1; n < MANY; n++) fail(1);
    expect(one.isStopped).toBe(false);
    fail(1);
    expect(one.isStopped).toBe(true);
    expect(told).toEqual([`payment fails: ${String(ERROR)}`]);
  });

  it('takes the failures of those that have failed before for theirs', () => {
    const { one, fail } = health();
    for (let n = 0; n < 10 * MANY; n++) fail(0);
    expect(one.isStopped).toBe(false);
  });

  it('probes further and further apart, tells once, and goes on with the first success', () => {
    const { one, clock, told, succeed } = health();
    const waitsMs = Array.from({ length: 6 }, () => {
      one.stop(ERROR);
      const fromMs = clock.nowMs;
      while (one.waits) clock.nowMs += 100;
      return clock.nowMs - fromMs;
    });
    expect(waitsMs).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(one.isStopped).toBe(true);
    succeed();
    expect(one).toMatchObject({ isStopped: false, waits: false });
    expect(told).toEqual([`payment fails: ${String(ERROR)}`, 'payment works']);
  });

  it('says when to probe, though a probe came to nothing', () => {
    const { one, clock, succeed } = health();
    expect(one.probesInMs).toBeUndefined();
    for (let probe = 0; probe < 6; probe++) one.stop(ERROR);
    clock.nowMs += 9_999;
    expect(one.probesInMs).toBe(1);
    clock.nowMs += 1;
    expect(one.probesInMs).toBe(10_000);
    succeed();
    expect(one.probesInMs).toBeUndefined();
  });

  it('doubts no handler that has just been shown to work', () => {
    const { one, clock, fail, succeed } = health();
    one.stop(ERROR);
    succeed();
    fail(10 * MANY);
    expect(one.isStopped).toBe(false);
    clock.nowMs += 10_000;
    fail(1);
    expect(one.isStopped).toBe(true);
  });

  it('lets subjects be held only when others have succeeded since they began to fail', () => {
    const { one, clock, succeed } = health();
    expect(one.mayHold(8)).toBe(false);
    succeed();
    expect(one.mayHold(1)).toBe(true);
    // Seven failures put a subject off for 1, 2, 4, 8, 16, 32 and 60 seconds.
    clock.nowMs += 123_000;
    expect(one.mayHold(8)).toBe(true);
    clock.nowMs += 1;
    expect(one.mayHold(8)).toBe(false);
  });

  it('stops, and says so, rather than to hold the only one that is ever due', () => {
    const { one, told, fail } = health();
    fail(0, true);
    expect(one.isStopped).toBe(true);
    expect(told).toHaveLength(1);
  });
});
