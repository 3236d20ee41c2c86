/** A minute, in steps short enough to forget an outage soon after it has ended. */
const STEP_MS = 5_000;
const STEPS = 12;
/** Of so many queries or more, so many failed: then its answers are not to be trusted en masse. */
const FEWEST_QUERIES = 20;
const FAILED_SHARE = 0.5;

/** Outcomes that say nothing of the payment (guarded.provider.ts). */
const FAILED = new Set(['unknown', 'timeout', 'error', 'not_called', 'bug']);

interface Step {
  readonly startedMs: number;
  calls: number;
  failed: number;
}

/**
 * Listens to what becomes of calls to the provider, and says whether most of them fail: then
 * timeouts that are about to close a lot at once stop (libs/timeout/src/brake.ts).
 */
export class ProviderSuspicion {
  readonly #steps: Step[] = [];

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
    step.calls += 1;
    if (FAILED.has(outcome)) step.failed += 1;
  }

  /** Named when most of the last minute's queries failed. */
  read(): 'provider_fails' | undefined {
    const sinceMs = this.nowMs() - STEP_MS * STEPS;
    let calls = 0;
    let failed = 0;
    for (const step of this.#steps) {
      if (step.startedMs < sinceMs) continue;
      calls += step.calls;
      failed += step.failed;
    }
    return calls >= FEWEST_QUERIES && failed >= calls * FAILED_SHARE ? 'provider_fails' : undefined;
  }
}
