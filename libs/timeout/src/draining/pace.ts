import { availableParallelism } from 'node:os';

/** Two fill two cores with Postgres beside them; more than eight wait for the disk and each other. */
const [FEWEST_DRAINERS, MOST_DRAINERS] = [2, 8];

/** As many drainers as this machine has cores, two to eight. */
export const drainersHere = (): number =>
  Math.min(MOST_DRAINERS, Math.max(FEWEST_DRAINERS, availableParallelism()));

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
  /** It is smaller than it might be, on purpose. */
  readonly isSmall: boolean;
}

const FIRST = 500;
/** Smaller ones would be all overhead, and slow everybody down more than they free. */
const SMALLEST_GROWN = 500;
/** A batch is so many times larger than the one before at the most. */
const GROWS_BY = 4;
/** The most that is taken at once of what is late, which leaves others room between. */
const LARGEST_LATE = 1_000;
/** Part of the time that such batches take, as large ones would do the same in less; */
const SMALL_COSTS = 1 / 3;
/** and where one drainer does the work of all. */
const ALONE_COSTS = 2 / 3;
/** What is due now leaves others a core for so long: most herds are over by then. */
const COURTEOUS_FOR_MS = 2_000;
/** Batches for which others count who were there, or felt it: while it gives way, nobody feels it. */
const REMEMBERED_FOR = 20;

/**
 * How fast a kind's due deadlines are handled: how many at once, by how many, with what rest.
 * A burst is to be over soon. What is late goes in small batches, by one drainer where others are
 * there, and where they feel it all the same, it gives way: it leaves them half of the time. But it may
 * lose a twentieth of how late it was as a round began in this way, no longer, however many rounds there
 * are until it is worked off. What is due now leaves them a core for two seconds at the most. So no
 * backlog falls behind by yielding, however fast more comes due.
 */
export class Pace {
  #size: number;
  #lastMs = 0;
  /** How late it is, its first claim has shown. */
  #isRoundKnown = false;
  /** So much time the backlog may still lose for the sake of others. */
  #loanMs = 0;
  /** So much was lent for it, in however many rounds. */
  #lentMs = 0;
  /** For so long it may still leave others a core, while it is not late. */
  #courteousForMs = COURTEOUS_FOR_MS;
  #feltFor = 0;
  #thereFor = 0;

  constructor(
    private readonly max: number,
    private readonly options: PaceOptions,
    private readonly othersWaitMs: () => number = () => 0,
  ) {
    this.#size = Math.min(FIRST, max);
  }

  /** For the next batch. */
  plan(): Plan {
    const { drainers } = this.options;
    // How late it is shows by the first claim.
    if (!this.#isRoundKnown) return this.#atMost(FIRST, { drainers });
    // Nobody is asked in a burst that may not give way.
    if (!this.#mayGiveWay) return this.#atMost(this.#size, { drainers });
    this.#askOthers();
    if (this.#isLate) return this.#planLate();
    const isAnyoneThere = this.#thereFor > 0;
    return this.#atMost(this.#size, {
      drainers: isAnyoneThere ? Math.max(1, drainers - 1) : drainers,
    });
  }

  #planLate(): Plan {
    const { drainers, targetBatchMs } = this.options;
    if (this.#thereFor === 0) return this.#atMost(LARGEST_LATE, { drainers });
    if (this.#feltFor === 0) return this.#atMost(LARGEST_LATE, { drainers: 1 });
    const restMs = Math.min(this.#lastMs, targetBatchMs);
    return this.#atMost(LARGEST_LATE, { drainers: 1, restMs, givesWay: true });
  }

  #askOthers(): void {
    const waitMs = this.othersWaitMs();
    if (waitMs > 0) this.#thereFor = REMEMBERED_FOR;
    if (waitMs >= this.options.feltFromMs) this.#feltFor = REMEMBERED_FOR;
  }

  /** So late, as one of its rounds began, that something was lent for it. */
  get #isLate(): boolean {
    return this.#lentMs > 0;
  }

  get #mayGiveWay(): boolean {
    return (this.#isLate ? this.#loanMs : this.#courteousForMs) > 0;
  }

  #atMost(most: number, plan: Pick<Plan, 'drainers'> & Partial<Plan>): Plan {
    const limit = Math.min(most, this.#size);
    return { restMs: 0, givesWay: false, ...plan, limit, isSmall: limit < this.#size };
  }

  /** A round begins: nothing is known of how late it is. What was lent before stays lent. */
  roundBegins(): void {
    this.#isRoundKnown = false;
  }

  /** The backlog is worked off: what is late from now on is another. */
  caughtUp(): void {
    this.#loanMs = this.#lentMs = 0;
    this.#courteousForMs = COURTEOUS_FOR_MS;
  }

  /** A batch has claimed; the oldest of it is overdue by so much. */
  claimed(oldestLagMs: number): void {
    const { yieldShare, targetBatchMs } = this.options;
    if (this.#isRoundKnown) return;
    this.#isRoundKnown = true;
    // Rounds may end with the backlog still there: later than before, it gets the difference.
    const moreMs = oldestLagMs * yieldShare - this.#lentMs;
    // Less than a batch is none.
    if (moreMs >= targetBatchMs) {
      this.#loanMs += moreMs;
      this.#lentMs += moreMs;
    }
    // Nobody has been asked yet.
    if (this.#isLate) this.#thereFor = REMEMBERED_FOR;
  }

  /** A batch of `size` took so long. Smaller ones than allowed say nothing about the size. */
  took(plan: Plan, size: number, tookMs: number): void {
    this.#lastMs = tookMs;
    this.#pay(plan, tookMs);
    this.#thereFor = Math.max(0, this.#thereFor - 1);
    this.#feltFor = Math.max(0, this.#feltFor - 1);
    if (size < plan.limit) return;
    const fitting = Math.round(
      size * Math.min(GROWS_BY, Math.max(0.5, this.options.targetBatchMs / tookMs)),
    );
    const floor = Math.min(SMALLEST_GROWN, size * 2);
    const bound = plan.isSmall ? Math.max(this.#size, fitting) : fitting;
    this.#size = Math.min(this.max, Math.max(floor, bound));
  }

  /**
   * All turns were taken for so long. Where those are fewer than there might be, that is paid for as a batch is:
   * whoever has them may be one who does not go on.
   */
  waited(waitedMs: number): void {
    const plan = this.plan();
    if (plan.drainers < this.options.drainers) this.#pay({ ...plan, restMs: 0 }, waitedMs);
  }

  #pay(plan: Plan, tookMs: number): void {
    const isByFewer = plan.drainers < this.options.drainers;
    if (this.#isLate) {
      const share = plan.givesWay ? 1 : isByFewer ? ALONE_COSTS : plan.isSmall ? SMALL_COSTS : 0;
      this.#loanMs -= plan.restMs + tookMs * share;
      // So many batches are under way at once.
    } else if (isByFewer) this.#courteousForMs -= tookMs / plan.drainers;
  }

  /** A batch of at most `limit` failed as a whole. */
  failed(limit: number): void {
    this.#size = Math.max(1, Math.min(this.#size, Math.floor(limit / SHRINK_BY)));
  }
}

/** After a failure the next one is so much smaller. */
const SHRINK_BY = 4;
