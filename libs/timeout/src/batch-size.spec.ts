import { BatchSize } from './batch-size';

const TARGET_MS = 200;
const MAX = 4_000;

/** What the size becomes after batches that each took so long for each subject. */
function steered(msEach: readonly number[], max = MAX): number {
  const size = new BatchSize(max, TARGET_MS);
  for (const each of msEach) size.took(size.current, size.current * each);
  return size.current;
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
    const size = new BatchSize(MAX, TARGET_MS);
    size.took(499, 1);
    expect(size.current).toBe(500);
  });

  it('becomes a quarter after a failure, down to one, and grows again', () => {
    const size = new BatchSize(MAX, TARGET_MS);
    const seen = Array.from({ length: 6 }, () => {
      size.failed(size.current);
      return size.current;
    });
    expect(seen).toEqual([125, 31, 7, 1, 1, 1]);
    size.took(1, 0.001);
    expect(size.current).toBe(2);
  });
});
