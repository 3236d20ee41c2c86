import {
  isCanceledStatement,
  isContention,
  isInfrastructureError,
} from '../database/database-errors';
import type { FollowUpJudge } from '../deadlines/deadline-handler';
import type { HandlerHealth, Standstill } from './handler-health';

/** Of more that fail while others succeed, the first are forgotten. */
const MOST_KNOWN = 10_000;

/**
 * Whether a kind's work after its commits works at all, such as asking a provider and applying what it
 * says. As a handler is judged by its batches ({@link HandlerHealth}), so is this: where many have failed
 * for the first time and none has succeeded, the kind stands still but for probes. Nobody is put aside
 * for it: the next attempt of each is armed before it is made.
 */
export class FollowUpHealth implements FollowUpJudge {
  /** Who failed since one last succeeded: each counts once. */
  readonly #failing = new Set<string>();
  /** Who failed before others succeeded, and has not succeeded since: these may speak against themselves. */
  readonly #known = new Set<string>();
  #probeEndsMs = -Infinity;

  constructor(
    private readonly health: HandlerHealth,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** True while the kind stands still for it. */
  get isStopped(): boolean {
    return this.health.isStopped;
  }

  /** What it stands still for, and for how long; undefined while the kind goes on. */
  get standstill(): Standstill | undefined {
    return this.health.standstill;
  }

  /** True when it stands still, and it is not yet time to try again. */
  get waits(): boolean {
    return this.isStopped && (this.health.waits || this.nowMs() < this.#probeEndsMs);
  }

  /** In how many milliseconds to probe; undefined while the kind goes on. */
  get probesInMs(): number | undefined {
    const inMs = this.health.probesInMs;
    return inMs === undefined ? undefined : Math.max(inMs, this.#probeEndsMs - this.nowMs());
  }

  /** A few have been claimed to see whether it works again: what becomes of them is not known at once. */
  probeBegins(): void {
    this.#probeEndsMs = this.nowMs() + (this.health.probesInMs ?? 0);
  }

  succeeded(subjectId: string): void {
    this.#known.delete(subjectId);
    this.#failing.delete(subjectId);
    for (const one of this.#failing) this.#know(one);
    this.#failing.clear();
    this.health.learn({ succeeded: 1, fresh: 0, worn: false }, undefined);
  }

  failed(subjectId: string, error: unknown): void {
    if (saysNothing(error)) return;
    if (this.isStopped) {
      // The first of a probe that fails; the others of it come while that waits.
      if (!this.health.waits) this.health.stop(error);
      return;
    }
    if (this.#known.has(subjectId) || this.#failing.has(subjectId)) return;
    this.#failing.add(subjectId);
    this.health.learn({ succeeded: 0, fresh: 1, worn: false }, error);
  }

  #know(subjectId: string): void {
    this.#known.add(subjectId);
    const [first] = this.#known;
    if (this.#known.size > MOST_KNOWN && first !== undefined) this.#known.delete(first);
  }
}

/** Somebody's lock, and a server that is away: the work may well be right. */
const saysNothing = (error: unknown): boolean =>
  isContention(error) || (isInfrastructureError(error) && !isCanceledStatement(error));
