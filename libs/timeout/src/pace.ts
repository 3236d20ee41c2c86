import type { DueDeadline } from './deadline-handler';

export interface PaceOptions {
  /** In a burst, batches of a kind under way at once in all processes, each on its own connection. */
  readonly drainers: number;
  /** A batch is sized so that its transaction takes about this long. Why so long: ADR 10. */
  readonly targetBatchMs: number;
  /** A full batch of deadlines that are all overdue by more is a backlog's. Why it matters: ADR 11. */
  readonly backlogAfterMs: number;
}

export const paceDefaults: PaceOptions = {
  drainers: 2,
  targetBatchMs: 200,
  backlogAfterMs: 60_000,
};

const FIRST = 500;
/** Smaller ones would be all overhead, and slow everybody down more than they free. */
const SMALLEST_GROWN = 500;
/** The most that is taken at once from a backlog. */
const LARGEST_OF_BACKLOG = 1_000;
/** After a failure the next one is so much smaller: the subject to blame is found in a few steps. */
const SHRINK_BY = 4;

/**
 * How fast a kind's due deadlines are handled: how many at once, by how many, with what rest.
 * A burst is to be over soon. A backlog is late already, so it leaves half of the time to customers.
 */
export class Pace {
  #size: number;
  #isBacklog = false;
  #lastMs = 0;

  constructor(
    private readonly max: number,
    private readonly options: PaceOptions,
  ) {
    this.#size = Math.min(FIRST, max);
  }

  /** How many subjects the next batch may take. */
  get batch(): number {
    return this.#isBacklog ? Math.min(LARGEST_OF_BACKLOG, this.#size) : this.#size;
  }

  /** How many batches may be under way at once. */
  get drainers(): number {
    return this.#isBacklog ? 1 : this.options.drainers;
  }

  /** How long to rest before the next batch, in milliseconds. */
  get restMs(): number {
    return this.#isBacklog ? Math.min(this.#lastMs, this.options.targetBatchMs) : 0;
  }

  /** What a batch of at most `limit` has claimed, at `nowMs` by the database's clock. */
  claimed(due: readonly DueDeadline[], limit: number, nowMs: number): void {
    const late = new Date(nowMs - this.options.backlogAfterMs);
    this.#isBacklog = due.length === limit && due.every(({ dueAt }) => dueAt < late);
  }

  /** A batch of `size` took so long. Smaller ones than allowed say nothing about the size. */
  took(size: number, tookMs: number): void {
    this.#lastMs = tookMs;
    if (size < this.batch) return;
    const fitting = Math.round(
      size * Math.min(2, Math.max(0.5, this.options.targetBatchMs / tookMs)),
    );
    const floor = Math.min(SMALLEST_GROWN, size * 2);
    this.#size = Math.min(this.max, Math.max(floor, fitting));
  }

  failed(size: number): void {
    this.#size = Math.max(1, Math.min(this.#size, Math.floor(size / SHRINK_BY)));
  }
}
