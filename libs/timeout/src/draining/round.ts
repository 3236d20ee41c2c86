import type { Asked } from './asked';
import type { BatchOutcome, DrainBatch } from './drain-batch';
import { type DrainCounts, noCounts } from './drain-counts';

/** Many times what a batch is to take. */
export const STUCK_AFTER_MS = 1_000;

/** A round of a drain that is under way: its drainers by their places, and what it did so far. */
export class Round {
  readonly total: DrainCounts = noCounts();
  readonly drainers = new Map<number, Promise<void>>();
  /** Of each place that has a batch under way, since when. */
  readonly #sinceMs = new Map<number, number>();
  /** Who ended last found nothing more. */
  isDone = false;
  failure: { readonly error: unknown } | undefined;

  constructor(
    readonly batch: DrainBatch,
    public asked: Asked,
  ) {}

  /** True while a batch of it takes its time, or hangs. */
  get isStuck(): boolean {
    return this.#stuck > 0;
  }

  /** As many as the pace allows, and one more for each that is stuck: whether there is a turn is another matter. */
  get places(): number {
    return this.batch.pace.plan().drainers + this.#stuck;
  }

  has(place: number): boolean {
    return !this.asked.shard?.signal.aborted && place < this.places;
  }

  /** True where all before it are stuck: of those without a turn, one waits for it. */
  isFirst(place: number): boolean {
    return [...this.drainers.keys()].every((other) => other >= place || this.#isStuckAt(other));
  }

  /** Handles one batch by that place. `moreIsDue` is called as soon as it has claimed as many as it may. */
  async handle(place: number, moreIsDue: () => void): Promise<BatchOutcome> {
    this.#sinceMs.set(place, performance.now());
    try {
      return await this.batch.handle(this.asked, this.total, moreIsDue);
    } finally {
      this.#sinceMs.delete(place);
    }
  }

  get #stuck(): number {
    return [...this.#sinceMs.keys()].filter((place) => this.#isStuckAt(place)).length;
  }

  #isStuckAt(place: number): boolean {
    return performance.now() - (this.#sinceMs.get(place) ?? Infinity) > STUCK_AFTER_MS;
  }
}
