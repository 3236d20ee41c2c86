import type { BatchesUnderWay } from './batches-under-way';

/** For so long one waits for a turn before it is asked whether those who have them go on. */
const ASKS_AFTER_MS = 1_000;
/** So long the answer holds. */
const HOLDS_FOR_MS = 5_000;

/**
 * Turns that sessions of Postgres have which hang: a turn ends with its transaction, and nobody can end these. As
 * many more may be had meanwhile, so that they stop nobody else.
 */
export class HangingTurns {
  /** Since one was had, or it was asked. */
  #waitedMs = 0;
  #hanging = 0;
  #untilMs = -Infinity;

  constructor(private readonly countUnderWay: () => Promise<BatchesUnderWay>) {}

  /** How many there are beside `turns`: never more than that, as where it is the disk of all that is silent. */
  beside(turns: number): number {
    return this.#isKnown ? Math.min(this.#hanging, turns) : 0;
  }

  /** One was had. */
  had(): void {
    this.#waitedMs = 0;
  }

  /** All were taken for so long. True where it was asked, and nobody who has one goes on. */
  async waited(waitedMs: number): Promise<boolean> {
    this.#waitedMs += waitedMs;
    const wereHanging = this.#hanging > 0 && !this.#isKnown;
    if (this.#waitedMs < ASKS_AFTER_MS && !wereHanging) return false;
    this.#waitedMs = 0;
    const { goingOn, hanging } = await this.countUnderWay();
    this.#hanging = hanging;
    this.#untilMs = performance.now() + HOLDS_FOR_MS;
    return goingOn === 0;
  }

  get #isKnown(): boolean {
    return performance.now() < this.#untilMs;
  }
}
