import { Pace, paceDefaults } from './pace';

const MAX = 4_000;
const NOW_MS = Date.parse('2026-11-20T12:00:00Z');

const newPace = (max = MAX): Pace => new Pace(max, paceDefaults);

/** A batch of so many, overdue by so much. */
const batchOf = (count: number, overdueMs: number) =>
  Array.from({ length: count }, (_, index) => ({
    ...{ kind: 'payment', subjectId: String(index), version: 1, failures: 0 },
    dueAt: new Date(NOW_MS - overdueMs),
  }));

/** What the size becomes after batches that each took so long for each subject. */
function steered(msEach: readonly number[], max = MAX): number {
  const pace = newPace(max);
  for (const each of msEach) pace.took(pace.batch, pace.batch * each);
  return pace.batch;
}

describe('the size of a batch', () => {
  it('doubles at the most, up to its bound, while batches are quick', () => {
    const quick = Array<number>(5).fill(0.001);
    expect([0, 1, 2, 3, 5].map((n) => steered(quick.slice(0, n)))).toEqual([
      500, 1_000, 2_000, 4_000, 4_000,
    ]);
    expect(steered(quick, 200)).toBe(200);
  });

  it('comes to what takes as long as wanted', () => {
    expect(steered(Array<number>(10).fill(0.1))).toBe(2_000);
  });

  it('halves at the most, and stays worth its while', () => {
    expect(steered([0.001, 0.001, 0.001, 10])).toBe(2_000);
    expect(steered([0.001, 0.001, 0.001, 10, 10, 10, 10])).toBe(500);
  });

  it('learns nothing from a batch that was not full', () => {
    const pace = newPace();
    pace.took(499, 1);
    expect(pace.batch).toBe(500);
  });

  it('becomes a quarter after a failure, down to one, and grows again', () => {
    const pace = newPace();
    const seen = Array.from({ length: 6 }, () => {
      pace.failed(pace.batch);
      return pace.batch;
    });
    expect(seen).toEqual([125, 31, 7, 1, 1, 1]);
    pace.took(1, 0.001);
    expect(pace.batch).toBe(2);
  });
});

describe('a backlog', () => {
  const inBacklog = (): Pace => {
    const pace = newPace();
    for (let n = 0; n < 4; n++) pace.took(pace.batch, 100);
    pace.claimed(batchOf(4_000, 60_001), 4_000, NOW_MS);
    return pace;
  };

  it('is handled by one drainer, in smaller batches, with a rest as long as each took', () => {
    const pace = inBacklog();
    expect(pace).toMatchObject({ batch: 1_000, drainers: 1, restMs: 100 });
    pace.took(1_000, 70);
    expect(pace).toMatchObject({ batch: 1_000, drainers: 1, restMs: 70 });
  });

  it('rests no longer than a batch should take', () => {
    const pace = inBacklog();
    pace.took(1_000, 3_000);
    expect(pace.restMs).toBe(200);
  });

  it('is over with the first batch that is not full, or not all late', () => {
    const [youngest] = batchOf(1, 59_999);
    for (const due of [batchOf(999, 60_001), [...batchOf(999, 60_001), youngest!]]) {
      const pace = inBacklog();
      pace.claimed(due, 1_000, NOW_MS);
      expect(pace).toMatchObject({ drainers: 2, restMs: 0 });
      expect(pace.batch).toBeGreaterThan(1_000);
    }
  });

  it('is none where fewer wait than a batch takes, however late', () => {
    const pace = newPace();
    pace.claimed(batchOf(499, 3_600_000), 500, NOW_MS);
    expect(pace).toMatchObject({ batch: 500, drainers: 2, restMs: 0 });
  });
});
