/** What was so as somebody looked at the oldest deadline of a kind. */
export interface Seen {
  /** By the database's clock, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The oldest transaction that was still open; all before it had ended. */
  readonly oldestOpen: number;
  /** No transaction from this one on had begun to write. */
  readonly next: number;
}

/** Grace for what was due as it was armed. */
const ARMED_LATE_MS = 5_000;
/** What a transaction commits that was open for longer is the sweep's. */
const LONGEST_OPEN_MS = 60_000;

/**
 * How far back to look for what was due before it was committed: to the last look before the oldest
 * transaction that is open began to write. Where none is open for long, that is a moment ago.
 */
export class LateCommits {
  #looks: Seen[] = [];
  #fromMs = Infinity;

  /** Where to look from if claims do so from `markMs` on; both in milliseconds since the epoch. */
  behind(markMs: number): number {
    return Math.min(markMs, this.#fromMs) - ARMED_LATE_MS;
  }

  /**
   * To be told of each look. What was open in it is looked for by the next one once more, which is
   * the first to see what ended in between.
   */
  looked(seen: Seen): void {
    this.#looks.push(seen);
    const closed = this.#looks.findLast(({ next }) => next <= seen.oldestOpen);
    this.#fromMs = Math.max(closed?.atMs ?? 0, seen.atMs - LONGEST_OPEN_MS);
    this.#looks = this.#looks.filter(({ atMs }) => atMs >= this.#fromMs);
  }
}
