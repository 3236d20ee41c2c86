/** A minute, in steps short enough to forget an outage soon after it has ended. */
const STEP_MS = 5_000;
const STEPS = 12;
/** Of so many calls or more, so many failed: then its answers are not to be trusted en masse. */
const FEWEST_CALLS = 20;
const FAILED_SHARE = 0.5;
/** Most of so many calls, one after the other, tell that it answers; and so many that fail in a row, that it does no more. */
const TELLING_CALLS = 5;
const TELLING_FAILURES = 20;

/** Why deadlines stop, as alerts and operators read it. */
export const PROVIDER_FAILS = 'provider_fails';

/** Outcomes that say nothing of the payment (guarded.provider.ts). */
const FAILED = new Set(['unknown', 'timeout', 'error', 'not_called', 'bug']);

interface Seen {
  readonly calls: number;
  readonly failed: number;
}

interface Step extends Seen {
  readonly startedMs: number;
  calls: number;
  failed: number;
}

interface Call {
  readonly hasFailed: boolean;
  readonly atMs: number;
}

const NONE: Seen = { calls: 0, failed: 0 };

/**
 * Listens to what becomes of calls to the provider, and says whether most of them fail: then
 * timeouts that are about to close a lot at once stop (libs/timeout/src/brake/brake.ts), and go on once it answers.
 */
export class ProviderSuspicion {
  readonly #steps: Step[] = [];
  #newest: Call[] = [];
  #failedInARow = 0;
  /** Since then it was last heard to answer, for as long as nothing says otherwise. */
  #answeredMs = -Infinity;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Is told how each call to the provider ended. */
  note(outcome: string): void {
    const nowMs = this.nowMs();
    let step = this.#steps.at(-1);
    if (!step || nowMs - step.startedMs >= STEP_MS) {
      step = { startedMs: nowMs, calls: 0, failed: 0 };
      this.#steps.push(step);
      if (this.#steps.length > STEPS) this.#steps.shift();
    }
    const hasFailed = FAILED.has(outcome);
    step.calls += 1;
    if (hasFailed) step.failed += 1;
    this.#hear(hasFailed, nowMs);
  }

  /** Named when most of the last minute's calls failed, and most of the newest of them: what ended is no reason. */
  read(): typeof PROVIDER_FAILS | undefined {
    const all = this.#lastMinute();
    const fails = all.calls >= FEWEST_CALLS && mostFailed(all) && mostFailed(seen(this.#newest));
    return fails ? PROVIDER_FAILS : undefined;
  }

  /**
   * True once it was heard to answer in the last so many ms, and the last minute's calls do not fail, but for a few of one order's.
   * However long ago that was: whose calls failed have been asked about again by then, and there may be nothing more to ask.
   */
  isOver(withinMs: number): boolean {
    const all = this.#lastMinute();
    const failsNow = all.calls >= TELLING_CALLS && mostFailed(all);
    return this.#answeredMs >= this.nowMs() - withinMs && !failsNow;
  }

  /** Nobody is suspected for what has failed by now. */
  forget(): void {
    this.#steps.length = 0;
  }

  #hear(hasFailed: boolean, atMs: number): void {
    this.#newest = [...this.#newest, { hasFailed, atMs }].slice(-FEWEST_CALLS);
    this.#failedInARow = hasFailed ? this.#failedInARow + 1 : 0;
    if (this.#failedInARow >= TELLING_FAILURES) this.#answeredMs = -Infinity;
    // Of fewer one that is answered would do, also of a provider that fails nearly always.
    const telling = this.#newest.slice(-TELLING_CALLS);
    const [oldest] = telling;
    if (!oldest || telling.length < TELLING_CALLS) return;
    if (!mostFailed(seen(telling))) this.#answeredMs = oldest.atMs;
  }

  #lastMinute(): Seen {
    const sinceMs = this.nowMs() - STEP_MS * STEPS;
    return this.#steps
      .filter(({ startedMs }) => startedMs >= sinceMs)
      .reduce(
        (sum, { calls, failed }) => ({ calls: sum.calls + calls, failed: sum.failed + failed }),
        NONE,
      );
  }
}

const seen = (all: readonly Call[]): Seen => ({
  calls: all.length,
  failed: all.filter(({ hasFailed }) => hasFailed).length,
});

const mostFailed = ({ calls, failed }: Seen): boolean => failed >= calls * FAILED_SHARE;
