import type { DueDeadline } from '../deadlines/deadline-handler';
import { Suspects } from './suspects';
import { subject } from '../testing/deadline-store';

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

  it('wait no longer than half a minute, however many they are: who knows of them may be gone', () => {
    find(many(20_000));
    const off = [...find(many(20_000)), ...suspects.putBack(many(20_000), NOW_MS)];
    expect(Math.max(...inMs(off))).toBeLessThanOrEqual(30_000);
    expect(Math.min(...inMs(off))).toBeGreaterThanOrEqual(18_000);
  });

  it('keep none waiting that was not tried, nor each other where they are few', () => {
    for (let round = 0; round < 6; round++) find(many(10));
    const pausesMs = () => inMs(suspects.putBack([due(7), due(2_007)], NOW_MS));
    expect(pausesMs()).toEqual([250, 250]);
    find(many(2_000));
    const [known, other] = pausesMs();
    expect(known).toBeGreaterThanOrEqual(15_000);
    expect(other).toBe(250);
  });

  it('are looked at in turn: who has waited the longest, for what its pause is', () => {
    const [one, other, third] = [due(1), due(2), due(3)];
    find([one]);
    find([one]);
    uptimeMs += 100;
    find([other]);
    expect(suspects.inTurn([one, other])).toEqual([one, other]);
    uptimeMs += 200;
    find([third]);
    expect(suspects.inTurn([third, one, other])).toEqual([other, one, third]);
  });

  it('name eight others for each that is free, those first that have waited the longest', () => {
    const off = find(many(100));
    expect(suspects.alsoFree([due(200)], NOW_MS)).toEqual([]);
    expect(suspects.alsoFree([due(3)], NOW_MS)).toEqual([...off.slice(0, 3), ...off.slice(4, 9)]);
    expect(suspects.alsoFree([due(3)], NOW_MS + 250)).toEqual([]);
    suspects.moved(
      off.slice(0, 50).map((one) => ({ ...one, dueAt: new Date(NOW_MS + 1) })),
      NOW_MS,
    );
    suspects.forget(off.slice(50, 60));
    expect(ids(suspects.alsoFree([due(60), due(61)], NOW_MS))).toEqual(ids(off.slice(62, 78)));
  });

  it('are remembered past their pause, and not for good', () => {
    find(many(1_000));
    const off = find(many(1_000));
    uptimeMs = Math.max(...inMs(off)) + 1;
    expect(suspects.areKnown).toBe(true);
    uptimeMs += 59_000;
    suspects.moved([due(7)], NOW_MS);
    uptimeMs += 1_000;
    expect(suspects.areKnown).toBe(true);
    expect([due(0), due(7)].map((one) => suspects.has(one))).toEqual([false, true]);
    uptimeMs += 59_000;
    expect(suspects.areKnown).toBe(false);
    expect(suspects.has(due(0))).toBe(false);
  });
});
