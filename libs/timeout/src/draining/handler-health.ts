import { backoffMs } from '../backoff';
import { MANY } from './handled-apart';

const PROBE_FIRST_MS = 1_000;
/** A handler that works again is found after so long at the most, though nobody rings. */
const PROBE_MAX_MS = 10_000;
/** A probe has shown that the handler works: for so long nobody doubts it. */
const TRUSTED_MS = 10_000;

/** Told when a kind stops because its handler fails for all, and when it goes on. */
export interface HandlerHealthTelemetry {
  handlerFails(kind: string, error: unknown): void;
  handlerWorks(kind: string): void;
}

/** Why a kind stands still, and for how long it has. */
export interface Standstill {
  readonly error: unknown;
  readonly forMs: number;
}

/**
 * Whether a kind's handler works at all. Subjects that fail for the first time while none succeeds
 * speak against the handler, not against themselves: then the kind stands still but for probes,
 * further and further apart, until one subject succeeds. And only a subject that fails while
 * others succeed may ever be held.
 */
export class HandlerHealth {
  /** Subjects that failed for the first time since one last succeeded. */
  #failedSinceSuccess = 0;
  #succeededMs = -Infinity;
  #trustedUntilMs = -Infinity;
  #stopped:
    | {
        readonly error: unknown;
        readonly sinceMs: number;
        readonly untilMs: number;
        readonly waitMs: number;
      }
    | undefined;

  constructor(
    private readonly kind: string,
    private readonly telemetry: HandlerHealthTelemetry,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** True while the kind stands still. */
  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** What its probes failed with last; undefined while the kind goes on. */
  get standstill(): Standstill | undefined {
    if (!this.#stopped) return undefined;
    const { error, sinceMs } = this.#stopped;
    return { error, forMs: this.nowMs() - sinceMs };
  }

  /** True when it stands still, and it is not yet time to try again. */
  get waits(): boolean {
    return this.#stopped !== undefined && this.nowMs() < this.#stopped.untilMs;
  }

  /**
   * In how many milliseconds to probe, unless somebody has by then; undefined while the kind goes on.
   * A probe that found nothing, or did not come about, is repeated after as long as it was waited for.
   */
  get probesInMs(): number | undefined {
    if (!this.#stopped) return undefined;
    const leftMs = this.#stopped.untilMs - this.nowMs();
    return leftMs > 0 ? leftMs : this.#stopped.waitMs;
  }

  /** True where many that fail, and none that succeeds, speak against the handler. */
  get isJudged(): boolean {
    return this.nowMs() >= this.#trustedUntilMs;
  }

  /**
   * A batch has been committed. Of those that failed, `fresh` never had before; `worn`: one would
   * have to be held, and {@link mayHold} forbids it.
   */
  learn(
    { succeeded, fresh, worn }: { succeeded: number; fresh: number; worn: boolean },
    error: unknown,
  ): void {
    if (succeeded > 0) return this.#works();
    this.#failedSinceSuccess += fresh;
    const areMany = fresh > 0 && this.isJudged && this.#failedSinceSuccess >= MANY;
    if (areMany || worn) this.stop(error);
  }

  /** The kind stands still from now on, longer each time. */
  stop(error: unknown): void {
    const last = this.#stopped;
    const nowMs = this.nowMs();
    const waitMs = last ? Math.min(PROBE_MAX_MS, 2 * last.waitMs) : PROBE_FIRST_MS;
    this.#stopped = { error, sinceMs: last?.sinceMs ?? nowMs, waitMs, untilMs: nowMs + waitMs };
    if (!last) this.telemetry.handlerFails(this.kind, error);
  }

  /**
   * True for a subject that has failed so often, if another has succeeded since it began to. All
   * that is known of when it began is how long it was put off since, at least.
   */
  mayHold(failures: number): boolean {
    let putOffMs = 0;
    for (let failure = 1; failure < failures; failure++) putOffMs += backoffMs(failure);
    return this.#succeededMs >= this.nowMs() - putOffMs;
  }

  #works(): void {
    this.#succeededMs = this.nowMs();
    this.#failedSinceSuccess = 0;
    if (!this.#stopped) return;
    this.#stopped = undefined;
    this.#trustedUntilMs = this.nowMs() + TRUSTED_MS;
    this.telemetry.handlerWorks(this.kind);
  }
}
