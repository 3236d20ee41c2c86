import type { DeadlinePlace } from '../deadlines/deadline-range';

/** So long after everything was looked at, it is looked at again. */
const LOOKS_AT_EVERYTHING_AFTER_MS = 500;

/** A claim that is under way. */
export interface FrontLook {
  /** Where it begins; undefined: it looks at everything. */
  readonly from: DeadlinePlace | undefined;
  readonly generation: number;
}

/**
 * How far a kind's batches in this process have claimed. What they have claimed is locked until they commit, and
 * whoever claimed beside them would read each of those rows to find it so. So it begins behind them.
 *
 * What is to be had before the front all the same (it came back, was committed late, or somebody held its row) is
 * found by the claims that look at everything: the first one, one each half a second, the next after a batch
 * that failed, and the next after one behind the front that found less than it wanted.
 */
export class ClaimFront {
  #place: DeadlinePlace | undefined;
  #lookedAtMs = -Infinity;
  #generation = 0;

  constructor(private readonly nowMs = (): number => performance.now()) {}

  /** To be called before a claim, which goes to {@link end}. */
  begin(): FrontLook {
    const isFresh = this.nowMs() - this.#lookedAtMs < LOOKS_AT_EVERYTHING_AFTER_MS;
    return { from: isFresh ? this.#place : undefined, generation: this.#generation };
  }

  /** `last`: of as many as the claim wanted; undefined where there were fewer. */
  end(look: FrontLook, last: DeadlinePlace | undefined): void {
    // It may not have seen what came back meanwhile.
    if (look.generation !== this.#generation) return;
    if (!look.from || !last) this.fall();
    if (!look.from) this.#lookedAtMs = this.nowMs();
    if (last && (!this.#place || isBefore(this.#place, last))) this.#place = last;
  }

  /** What was claimed has come back: the next claim looks at everything. */
  fall(): void {
    this.#place = undefined;
    this.#generation += 1;
  }
}

const isBefore = (one: DeadlinePlace, other: DeadlinePlace): boolean => {
  const apartMs = other.dueAt.getTime() - one.dueAt.getTime();
  return apartMs > 0 || (apartMs === 0 && one.subjectId < other.subjectId);
};
