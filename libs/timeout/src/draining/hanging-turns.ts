import type { BatchesUnderWay } from './batches-under-way';

/** For so long none was had before it is asked whether those who have them go on, and between two times. */
const ASKS_AFTER_MS = 1_000;
/** So long the answer holds. */
const HOLDS_FOR_MS = 2_000;

/**
 * Turns that sessions of Postgres have which hang: a turn ends with its transaction, and nobody can end these. As
 * many more may be had meanwhile, so that they stop nobody else.
 */
export class HangingTurns {
  /** Since one was had, or it was asked. */
  #sinceMs = -Infinity;
  #hanging = 0;
  #untilMs = -Infinity;

  constructor(private readonly countUnderWay: () => Promise<BatchesUnderWay>) {}

  /** How many there are beside `turns`: never more than that, as where it is the disk of all that is silent. */
  beside(turns: number): number {
    return this.#isKnown ? Math.min(this.#hanging, turns) : 0;
  }

  /** One was had. */
  had(): void {
    this.#sinceMs = performance.now();
  }

  /** All are taken. True where some are by sessions that hang: there are others. */
  async areTaken(): Promise<boolean> {
    const nowMs = performance.now();
    const wereHanging = this.#hanging > 0 && !this.#isKnown;
    if (nowMs - this.#sinceMs >= ASKS_AFTER_MS || wereHanging) {
      this.#sinceMs = nowMs;
      this.#hanging = (await this.countUnderWay()).hanging;
      this.#untilMs = nowMs + HOLDS_FOR_MS;
    }
    return this.#hanging > 0;
  }

  get #isKnown(): boolean {
    return performance.now() < this.#untilMs;
  }
}
