export interface PaceOptions {
  /** Batches of a kind under way at once, in all processes together, each on its own connection. */
  readonly drainers: number;
  /** A batch is sized so that its transaction takes about this long. Why so long: ADR 14. */
  readonly targetBatchMs: number;
  /** Others who wait longer than that for their answers feel the drain. */
  readonly feltFromMs: number;
  /** By how much of its lateness a backlog may become later for the sake of others: ADR 15. */
  readonly yieldShare: number;
}

export const paceDefaults: PaceOptions = {
  drainers: 2,
  targetBatchMs: 200,
  feltFromMs: 50,
  yieldShare: 0.05,
};

/** How the next batch goes about it. */
export interface Plan {
  /** How many subjects it may take. */
  readonly limit: number;
  /** How many batches of the kind may be under way at once. */
  readonly drainers: number;
  /** How long it rests before it claims, in milliseconds. */
  readonly restMs: number;
  readonly givesWay: boolean;
}

const FIRST = 500;
/** Smaller ones would be all overhead, and slow everybody down more than they free. */
const SMALLEST_GROWN = 500;
/** A batch is so many times larger than the one before at the most. */
const GROWS_BY = 4;
/** The most that is taken at once while others are given way. */
const LARGEST_GIVING_WAY = 1_000;

/**
 * How fast a kind's due deadlines are handled: how many at once, by how many, with what rest.
 * A burst is to be over soon. Where others feel it, a drain gives way: it leaves them half of the
 * time. But it may do so for a twentieth of how late it was as it began, no longer. So what is due
 * now yields to nobody, and no backlog falls behind by yielding, however fast more comes due.
 */
export class Pace {
  #size: number;
  #lastMs = 0;
  /** For so long this round may still give way; undefined before its first claim. */
  #yieldLeftMs: number | undefined;

  constructor(
    private readonly max: number,
    private readonly options: PaceOptions,
    private readonly othersWaitMs: () => number = () => 0,
  ) {
    this.#size = Math.min(FIRST, max);
  }

  /** For the next batch. */
  plan(): Plan {
    const { drainers, targetBatchMs, feltFromMs } = this.options;
    // In this order: nobody is asked in a burst that may not give way.
    const givesWay = (this.#yieldLeftMs ?? 0) > 0 && this.othersWaitMs() >= feltFromMs;
    if (!givesWay) return { limit: this.#size, drainers, restMs: 0, givesWay };
    return {
      limit: Math.min(LARGEST_GIVING_WAY, this.#size),
      drainers: 1,
      restMs: Math.min(this.#lastMs, targetBatchMs),
      givesWay,
    };
  }

  /** A round begins: nothing is known of how late it is. */
  roundBegins(): void {
    this.#yieldLeftMs = undefined;
  }

  /** A batch has claimed; the oldest of it is overdue by so much. */
  claimed(oldestLagMs: number): void {
    this.#yieldLeftMs ??= Math.max(0, oldestLagMs) * this.options.yieldShare;
  }

  /** A batch of `size` took so long. Smaller ones than allowed say nothing about the size. */
  took(plan: Plan, size: number, tookMs: number): void {
    this.#lastMs = tookMs;
    if (plan.givesWay) this.#yieldLeftMs = (this.#yieldLeftMs ?? 0) - plan.restMs - tookMs;
    if (size < plan.limit) return;
    const fitting = Math.round(
      size * Math.min(GROWS_BY, Math.max(0.5, this.options.targetBatchMs / tookMs)),
    );
    const floor = Math.min(SMALLEST_GROWN, size * 2);
    // Batches that give way are small on purpose.
    const bound = plan.givesWay ? Math.max(this.#size, fitting) : fitting;
    this.#size = Math.min(this.max, Math.max(floor, bound));
  }

  /** A batch of at most `limit` failed as a whole. */
  failed(limit: number): void {
    this.#size = Math.max(1, Math.min(this.#size, Math.floor(limit / SHRINK_BY)));
  }
}

/** After a failure the next one is so much smaller. */
const SHRINK_BY = 4;
