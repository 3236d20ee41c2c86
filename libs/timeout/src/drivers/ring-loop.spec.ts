import type { Alarm } from '../timer-driver';
import { RingLoop } from './ring-loop';

const NOW_MS = 1_000_000;

/** A loop whose source has one alarm that is due: `isHeld` by somebody, so that nobody can take it. */
function held() {
  const alarm: Alarm = { id: 'held', at: new Date(NOW_MS - 1) };
  const state = { isHeld: true, takes: 0, rung: [] as string[] };
  const loop = new RingLoop(
    {
      take: async () => {
        state.takes += 1;
        if (state.isHeld) return { due: [], nextAtMs: alarm.at.getTime() };
        state.isHeld = true;
        return { due: [alarm], nextAtMs: alarm.at.getTime() };
      },
      putBack: async () => undefined,
    },
    {
      clock: { nowMs: () => NOW_MS },
      longestWaitMs: () => 1_000,
      onError: (error) => {
        throw error;
      },
    },
  );
  loop.start(async (due) => void state.rung.push(...due.map(({ id }) => id)));
  return { loop, state };
}

describe('RingLoop, of which somebody holds what is due', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('looks ever less often, and ten times a second at the least', async () => {
    const { loop, state } = held();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(state.takes).toBeLessThan(20);
    const before = state.takes;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(state.takes - before).toBe(10);
    await loop.stop();
  });

  it('rings it soon once it is free, and looks at once again for a while', async () => {
    const { loop, state } = held();
    await jest.advanceTimersByTimeAsync(1_000);
    state.isHeld = false;
    let waitedMs = 0;
    for (; state.rung.length === 0; waitedMs++) await jest.advanceTimersByTimeAsync(1);
    expect(waitedMs).toBeLessThanOrEqual(100);
    const before = state.takes;
    await jest.advanceTimersByTimeAsync(8);
    expect(state.takes - before).toBeGreaterThanOrEqual(3);
    await loop.stop();
  });

  it('looks at once where there is news', async () => {
    const { loop, state } = held();
    await jest.advanceTimersByTimeAsync(1_000);
    const before = state.takes;
    loop.lookAt(NOW_MS);
    await jest.advanceTimersByTimeAsync(0);
    expect(state.takes).toBe(before + 1);
    await loop.stop();
  });
});
