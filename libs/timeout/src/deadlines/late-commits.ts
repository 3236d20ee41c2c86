import { EVERYTHING_MS } from './low-water';

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
/** What a transaction commits that was open to write for longer is the sweep's. */
const LONGEST_OPEN_MS = 60_000;
/** How often to look so far back, which reads all that was handled meanwhile; else it is a moment back. */
const FAR_EVERY_MS = 1_000;
/**
 * How often to look at everything, by the monotonic clock: what comes from where nobody looked may be overdue by
 * hours, and whoever has brought it near, or has put the brake on it, may have been killed, or have looked already.
 */
const ALL_EVERY_MS = 60_000;

/**
 * How far back to look for what was due before it was committed: to the last look before the oldest
 * transaction that is open began to write. Where none is open for long, that is a moment ago. Once a minute
 * it is everything.
 */
export class LateCommits {
  #looks: Seen[] = [];
  /** What was open before the first look is looked for by it among everything. */
  #fromMs = EVERYTHING_MS;
  #isFar = true;
  #farAtMs = -Infinity;
  #isAll = true;
  #allAtMs = -Infinity;
  #last = { atMs: EVERYTHING_MS, elapsedMs: 0 };

  /** `elapsedMs`: monotonic. */
  constructor(private readonly elapsedMs: () => number = () => performance.now()) {}

  /** Where to look from if claims do so from `markMs` on; both in milliseconds since the epoch. */
  behind(markMs: number): number {
    const nowMs = this.#last.atMs + this.elapsedMs() - this.#last.elapsedMs;
    this.#isFar = !(Math.abs(nowMs - this.#farAtMs) < FAR_EVERY_MS);
    this.#isAll = this.elapsedMs() - this.#allAtMs >= ALL_EVERY_MS;
    if (this.#isAll) return EVERYTHING_MS;
    const fromMs = this.#isFar ? Math.max(this.#fromMs, nowMs - LONGEST_OPEN_MS) : Infinity;
    return Math.min(markMs, fromMs) - ARMED_LATE_MS;
  }

  /**
   * To be told of each look, as it was asked for by {@link behind}. What was open as it looked far back
   * is looked for once more, by the first such look after it has ended.
   */
  looked(seen: Seen): void {
    this.#last = { atMs: seen.atMs, elapsedMs: this.elapsedMs() };
    if (this.#isAll) this.#allAtMs = this.#last.elapsedMs;
    if (!this.#isFar) return;
    this.#farAtMs = seen.atMs;
    this.#looks.push(seen);
    const closed = this.#looks.findLast(({ next }) => next <= seen.oldestOpen);
    this.#fromMs = Math.max(closed?.atMs ?? 0, seen.atMs - LONGEST_OPEN_MS);
    this.#looks = this.#looks.filter(({ atMs }) => atMs >= this.#fromMs);
  }
}
