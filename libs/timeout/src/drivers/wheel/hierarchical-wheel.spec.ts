import * as fc from 'fast-check';
import { HierarchicalWheel, TICK_MS, type WheelEntry } from './hierarchical-wheel';

/** Near ones, and far ones of every level. */
const inMs = fc.oneof(
  fc.integer({ min: -50, max: 2_000 }),
  fc.integer({ min: 0, max: 40 }).map((power) => 2 ** power),
);
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), inMs }),
  fc.record({ do: fc.constant('remove' as const), index: fc.nat() }),
  fc.record({ do: fc.constant('pass' as const), ms: inMs, limit: fc.integer({ min: 1, max: 9 }) }),
);

describe('HierarchicalWheel', () => {
  it('takes each entry once, never early, and late by a tick at most, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        let nowMs = 1_800_000_000_123;
        const wheel = new HierarchicalWheel<WheelEntry>(nowMs);
        const waiting = new Set<WheelEntry>();
        for (const one of steps) {
          if (one.do === 'add') {
            const entry: WheelEntry = { ringAtMs: nowMs + one.inMs };
            wheel.add(entry);
            waiting.add(entry);
          } else if (one.do === 'remove') {
            const entry = [...waiting][one.index % Math.max(1, waiting.size)];
            if (entry) wheel.remove(entry);
            if (entry) waiting.delete(entry);
          } else {
            nowMs += Math.max(0, one.ms);
            const taken = wheel.take(nowMs, one.limit);
            for (const entry of taken) {
              expect(entry.ringAtMs).toBeLessThanOrEqual(nowMs);
              expect(waiting.delete(entry)).toBe(true);
            }
            const overdue = [...waiting].filter(({ ringAtMs }) => ringAtMs <= nowMs - TICK_MS);
            if (taken.length < one.limit) expect(overdue).toEqual([]);
          }
          const first = Math.min(...[...waiting].map(({ ringAtMs }) => ringAtMs));
          // It may be looked at too soon, and never too late.
          if (waiting.size > 0) expect(wheel.nextAtMs).toBeLessThanOrEqual(first + TICK_MS);
          else expect(wheel.nextAtMs).toBeUndefined();
        }
      }),
      { numRuns: 150 },
    );
  });

  it('gives another round to what is beyond its last level', () => {
    const wheel = new HierarchicalWheel<WheelEntry>(0);
    const far = { ringAtMs: 40 * 366 * 86_400_000 };
    wheel.add(far);
    for (let years = 1; years < 40; years++) {
      expect(wheel.take(years * 365 * 86_400_000, 10)).toEqual([]);
    }
    expect(wheel.take(far.ringAtMs, 10)).toEqual([far]);
  });
});
