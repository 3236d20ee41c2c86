const FIRST = 500;
/** Smaller ones would be all overhead, and slow everybody down more than they free. */
const SMALLEST_GROWN = 500;
/** After a failure the next one is so much smaller: the subject to blame is found in a few steps. */
const SHRINK_BY = 4;

/** How many subjects a batch takes: steered so that its transaction takes about `targetMs`. */
export class BatchSize {
  #current: number;

  constructor(
    private readonly max: number,
    private readonly targetMs: number,
  ) {
    this.#current = Math.min(FIRST, max);
  }

  get current(): number {
    return this.#current;
  }

  /** A batch of `size` took so long. Smaller ones than allowed say nothing. */
  took(size: number, tookMs: number): void {
    if (size < this.#current) return;
    const fitting = Math.round(size * Math.min(2, Math.max(0.5, this.targetMs / tookMs)));
    const floor = Math.min(SMALLEST_GROWN, size * 2);
    this.#current = Math.min(this.max, Math.max(floor, fitting));
  }

  failed(size: number): void {
    this.#current = Math.max(1, Math.min(this.#current, Math.floor(size / SHRINK_BY)));
  }
}
