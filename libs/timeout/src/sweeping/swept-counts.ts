import { addCounts, type DrainCounts, noCounts } from '../draining/drain-counts';

/** What drains did that a sweep has sent out. */
export interface SweptCounts extends DrainCounts {
  /** Of `changed`, by kind; without kinds that changed nothing. */
  readonly changedOf: Readonly<Record<string, number>>;
}

/** A round of a kind's drain. */
export interface SweptRound {
  readonly kind: string;
  readonly counts: Promise<DrainCounts>;
}

/** What all of them did, once all have ended; rejects with the first failure. */
export async function sumOf(rounds: readonly SweptRound[]): Promise<SweptCounts> {
  const total = noCounts();
  const changedOf: Record<string, number> = {};
  await Promise.allSettled(rounds.map(({ counts }) => counts));
  for (const { kind, counts } of rounds) {
    const did = await counts;
    if (did.changed > 0) changedOf[kind] = did.changed;
    addCounts(total, did);
  }
  return { ...total, changedOf };
}
