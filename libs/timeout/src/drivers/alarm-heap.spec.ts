import * as fc from 'fast-check';
import { AlarmHeap } from './alarm-heap';

const id = fc.integer({ min: 0, max: 30 }).map((n) => `id-${n}`);
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), id, atMs: fc.integer({ min: 0, max: 100 }) }),
  fc.record({ do: fc.constant('remove' as const), id }),
  fc.record({
    do: fc.constant('take' as const),
    nowMs: fc.integer({ min: 0, max: 100 }),
    limit: fc.integer({ min: 1, max: 5 }),
  }),
);

describe('AlarmHeap', () => {
  it('does what a sorted list does, whatever is added, removed and taken', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new AlarmHeap();
        const model = new Map<string, number>();
        for (const one of steps) {
          if (one.do === 'add') {
            expect(heap.add({ id: one.id, at: new Date(one.atMs) })).toBe(!model.has(one.id));
            if (!model.has(one.id)) model.set(one.id, one.atMs);
          } else if (one.do === 'remove') {
            heap.remove(one.id);
            model.delete(one.id);
          } else {
            const due = [...model].filter(([, atMs]) => atMs <= one.nowMs);
            const taken = heap.takeDue(one.nowMs, one.limit);
            const instants = due.map(([, atMs]) => atMs).sort((a, b) => a - b);
            expect(taken.map(({ at }) => at.getTime())).toEqual(instants.slice(0, one.limit));
            for (const alarm of taken) expect(model.get(alarm.id)).toBe(alarm.at.getTime());
            for (const alarm of taken) model.delete(alarm.id);
          }
          expect(heap.size).toBe(model.size);
          expect(heap.firstAtMs).toBe(model.size ? Math.min(...model.values()) : undefined);
        }
        const left = [...heap.alarms()].map((alarm) => [alarm.id, alarm.at.getTime()]);
        expect(new Map(left as [string, number][])).toEqual(model);
      }),
      { numRuns: 60 },
    );
  });

  it('takes a thousand in their order, in whichever they came', () => {
    const heap = new AlarmHeap();
    const order = Array.from({ length: 1_009 }, (_, n) => n);
    for (const n of order) heap.add({ id: `id-${n}`, at: new Date((n * 389) % 1_009) });
    const taken = order.flatMap(() => heap.takeDue(Infinity, 1));
    expect(taken.map(({ at }) => at.getTime())).toEqual(order);
  });

  it('does not keep what was taken back', () => {
    const heap = new AlarmHeap();
    heap.add({ id: 'kept', at: new Date(1) });
    for (let n = 0; n < 10_000; n++) {
      heap.add({ id: `gone-${n}`, at: new Date(2 + n) });
      heap.remove(`gone-${n}`);
    }
    expect(heap.takeDue(Infinity, 10).map((alarm) => alarm.id)).toEqual(['kept']);
    expect(heap.firstAtMs).toBeUndefined();
  });
});
