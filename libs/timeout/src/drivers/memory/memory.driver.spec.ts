import type { Clock } from '../../clock';
import { describeTimerDriver } from '../driver.contract';
import { LONGEST_WAIT_MS, MemoryDriver, type Timers } from './memory.driver';

describeTimerDriver('MemoryDriver', {
  create: ({ databaseClock, onError }) => new MemoryDriver({ databaseClock, onError }),
  abilities: { durable: false },
});

describe('MemoryDriver', () => {
  it('waits for a far alarm in several turns', async () => {
    let nowMs = Date.UTC(2026, 0, 1);
    const clock: Clock = { nowMs: () => nowMs };
    const waits: { ring: () => void; delayMs: number }[] = [];
    const timers: Timers = {
      set: (ring, delayMs) => waits.push({ ring, delayMs }),
      clear: () => undefined,
    };
    const driver = new MemoryDriver({ databaseClock: clock, timers, onError: fail });
    const rung: string[] = [];
    await driver.start(async ({ id }) => void rung.push(id));
    await driver.arm([{ id: 'far', at: new Date(nowMs + LONGEST_WAIT_MS + 500) }]);

    nowMs += LONGEST_WAIT_MS;
    waits[0]?.ring();
    expect(rung).toEqual([]);
    nowMs += 500;
    waits[1]?.ring();
    expect(rung).toEqual(['far']);
    expect(waits.map(({ delayMs }) => delayMs)).toEqual([LONGEST_WAIT_MS, 500]);
    await driver.stop();
  });
});

function fail(error: Error): never {
  throw error;
}
