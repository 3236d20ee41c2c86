import type { Clock } from '../../clock';
import { LowWater } from '../../deadlines/low-water';

/** So often is looked again for what this process may not have heard of, */
const AGAIN_MS = 100;
/** from so long ago on: whatever arms an alarm is committed by then. */
const COMMITTED_LATE_MS = 2_000;
/** And so often from the very beginning, for what was armed long after its instant. */
const EVERYTHING_MS = 30_000;

/**
 * Where to begin to look for a queue's first alarm: all before it were gone when this process
 * looked. What is gone stays in the index until no snapshot needs it, so that with an old one open
 * (a dump, a forgotten transaction) each look would read all of it again.
 *
 * What others put before the mark they tell of, unless they saw an alarm before theirs that has
 * rung since, or nobody hears them: so now and then a look begins earlier.
 */
export class HeadMark {
  readonly #lowWater = new LowWater();
  #lookedAgainMs = -Infinity;
  #lookedAtEverythingMs = -Infinity;

  /** `clock`: the database's; `elapsedMs`: monotonic. */
  constructor(
    private readonly clock: Clock,
    private readonly elapsedMs: () => number = () => performance.now(),
  ) {}

  /** Nothing that is due waits before it, as far as is known. */
  get fromMs(): number {
    return this.#lowWater.fromMs;
  }

  /** By `find`, which gets where to begin and gives the first alarm's instant; Infinity: there is none. */
  async look(find: (fromMs: number) => Promise<number>): Promise<number> {
    const look = this.#lowWater.begin();
    let headMs: number | undefined;
    try {
      headMs = await find(Math.min(look.fromMs, this.#againFromMs()));
      // Those who look meanwhile, from later on, have not seen it.
      if (headMs < look.fromMs) this.#lowWater.lower(headMs);
      return headMs;
    } finally {
      this.#lowWater.end(look, headMs);
    }
  }

  /** There is, perhaps, an alarm at this instant; -Infinity: at any. */
  lower(toMs: number): void {
    this.#lowWater.lower(toMs);
  }

  #againFromMs(): number {
    const elapsedMs = this.elapsedMs();
    if (elapsedMs - this.#lookedAtEverythingMs >= EVERYTHING_MS) {
      this.#lookedAtEverythingMs = elapsedMs;
      return -Infinity;
    }
    if (elapsedMs - this.#lookedAgainMs < AGAIN_MS) return Infinity;
    this.#lookedAgainMs = elapsedMs;
    return this.clock.nowMs() - COMMITTED_LATE_MS;
  }
}
