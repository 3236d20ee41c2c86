import type { Drain } from './drain';
import { addCounts, type DrainCounts, noCounts } from './drain-counts';

/** What drains did that a sweep has sent out. */
export interface SweptCounts extends DrainCounts {
  /** Of `changed`, by kind; without kinds that changed nothing. */
  readonly changedOf: Readonly<Record<string, number>>;
}

/** What all of them did, once all have ended; rejects with the first failure. */
export async function sumOf(
  drains: readonly Drain[],
  rounds: readonly Promise<DrainCounts>[],
): Promise<SweptCounts> {
  const total = noCounts();
  const changedOf: Record<string, number> = {};
  const results = await Promise.allSettled(rounds);
  for (const [index, result] of results.entries()) {
    if (result.status === 'rejected') throw result.reason;
    const { changed } = result.value;
    if (changed > 0) changedOf[(drains[index] as Drain).kind] = changed;
    addCounts(total, result.value);
  }
  return { ...total, changedOf };
}
