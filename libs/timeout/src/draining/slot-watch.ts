import type { Clock } from '../clock';
import type { LowWater } from '../deadlines/low-water';

/** Who has found some looks for those that follow no sooner, so that they come in sets. */
const APART_MS = 30;

/**
 * A kind's deadlines of a slot that has rung in this process, watched until the slot ends: its drain is
 * called again just when the next of them is due. Instants are the database's, in milliseconds since the
 * epoch; waits go by the monotonic clock.
 */
export class SlotWatch {
  #untilMs: number | undefined;
  /** When to look, by the monotonic clock: for the next as the last claim has seen it, and for what was put back. */
  #nextMs = Infinity;
  #backMs = Infinity;
  /** A round is under way of which no claim has answered yet: it may find anything. */
  #isLooking = false;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    private readonly look: () => void,
    private readonly clock: Pick<Clock, 'nowMs'>,
    private readonly lowWater: LowWater,
  ) {}

  /** When the watch ends; undefined before the first slot. */
  get untilMs(): number | undefined {
    return this.#untilMs;
  }

  /** A slot has rung that ends then. */
  extend(untilMs: number): void {
    this.#untilMs = Math.max(this.#untilMs ?? untilMs, untilMs);
  }

  /** A round begins that claims all that is due: what was known before it is not to be looked for once more. */
  roundBegins(): void {
    clearTimeout(this.#timer);
    this.#nextMs = this.#backMs = Infinity;
    this.#isLooking = true;
  }

  /** A claim of it has answered: the next that is due before the watch ends is due in so long; Infinity: there is none. */
  nextIn(inMs: number): void {
    this.#nextMs = performance.now() + inMs;
    this.#isLooking = false;
  }

  /** True when it will look for what was put back to this instant: nobody has to ring for it. */
  expects(dueAt: Date): boolean {
    if (this.#isStopped || this.#untilMs === undefined || dueAt.getTime() > this.#untilMs) {
      return false;
    }
    // Nobody rings who would say from where to look.
    this.lowWater.lower(dueAt.getTime());
    const inMs = dueAt.getTime() - this.clock.nowMs();
    this.#backMs = Math.min(this.#backMs, performance.now() + inMs);
    return true;
  }

  /** A round has ended that has found so many. */
  roundEnded(found: number): void {
    clearTimeout(this.#timer);
    this.#isLooking = false;
    const atMs = this.#atMs;
    if (this.#isStopped || atMs === Infinity) return;
    const inMs = Math.max(found > 0 ? APART_MS : 1, Math.ceil(atMs - performance.now()));
    this.#timer = setTimeout(this.look, inMs).unref();
  }

  /** The end of the slot, where something may still have to be looked for in it: somebody else has to. */
  stop(): number | undefined {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    return this.#isLooking || this.#atMs < Infinity ? this.#untilMs : undefined;
  }

  get #atMs(): number {
    return Math.min(this.#nextMs, this.#backMs);
  }
}
