import type { DueDeadline } from './deadline-handler';
import { Suspects } from './suspects';
import { subject } from './testing/deadline-store';

const NOW_MS = Date.UTC(2026, 0, 1);
const due = (nth: number, dueAt = new Date(NOW_MS)): DueDeadline => ({
  ...{ kind: 'booking', subjectId: subject(nth), dueAt },
  ...{ version: 1, failures: 0 },
});
const many = (count: number) => Array.from({ length: count }, (_, nth) => due(nth));
const inMs = (all: readonly DueDeadline[]) => all.map(({ dueAt }) => dueAt.getTime() - NOW_MS);
const ids = (all: readonly DueDeadline[]) => all.map(({ subjectId }) => subjectId);

describe('Suspects', () => {
  let uptimeMs: number;
  let suspects: Suspects;
  beforeEach(() => {
    uptimeMs = 0;
    suspects = new Suspects(() => uptimeMs);
  });
  const find = (all: readonly DueDeadline[]) => {
    const off = suspects.putOff(all, NOW_MS);
    suspects.add(off, NOW_MS);
    return off;
  };

  it('come back later and later, some at a time', () => {
    for (const pauseMs of [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
      expect(inMs(find(many(10)))).toEqual(Array<number>(10).fill(pauseMs));
    }
  });

  it('of thousands come back a hundred a second, not all at one instant', () => {
    find(many(2_000));
    const pausesMs = inMs(find(many(2_000)));
    expect(Math.min(...pausesMs)).toBeGreaterThanOrEqual(15_000);
    expect(Math.max(...pausesMs)).toBeLessThanOrEqual(25_000);
    expect(new Set(pausesMs).size).toBeGreaterThan(1_000);
  });

  it('keep none waiting that was not tried', () => {
    find(many(2_000));
    const [known, other] = suspects.putBack([due(7), due(2_007)], NOW_MS);
    expect(inMs([known as DueDeadline])[0]).toBeGreaterThanOrEqual(15_000);
    expect(inMs([other as DueDeadline])).toEqual([250]);
  });

  it('name eight others for each that is free, those first that have waited the longest', () => {
    const off = find(many(100));
    expect(suspects.alsoFree([due(200)], NOW_MS)).toEqual([]);
    expect(suspects.alsoFree([due(3)], NOW_MS)).toEqual([...off.slice(0, 3), ...off.slice(4, 9)]);
    expect(suspects.alsoFree([due(3)], NOW_MS + 250)).toEqual([]);
    suspects.moved(off.slice(0, 50).map((one) => ({ ...one, dueAt: new Date(NOW_MS + 1) })));
    suspects.forget(off.slice(50, 60));
    expect(ids(suspects.alsoFree([due(60), due(61)], NOW_MS))).toEqual(ids(off.slice(62, 78)));
  });

  it('are remembered past their pause, and not for good', () => {
    find(many(1_000));
    const off = find(many(1_000));
    uptimeMs = Math.max(...inMs(off)) + 1;
    expect(suspects.areKnown).toBe(true);
    uptimeMs += 60_000;
    expect(suspects.areKnown).toBe(false);
    expect(suspects.has(due(0))).toBe(false);
  });
});
