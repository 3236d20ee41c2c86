/** So old, an answer is asked for again. */
const STALE_MS = 500;

/**
 * How long others wait for their answers at present, in milliseconds: asked of the application in
 * the background, and only while somebody wants to know.
 */
export class OthersWait {
  #ms = 0;
  #askedMs = -Infinity;

  constructor(
    private readonly ask: () => Promise<number>,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** What was answered last; 0 while nothing is known: that slows nobody down. */
  get ms(): number {
    if (performance.now() - this.#askedMs >= STALE_MS) {
      this.#askedMs = performance.now();
      this.ask().then(
        (ms) => (this.#ms = ms),
        (error: unknown) => {
          this.#ms = 0;
          this.onError(error);
        },
      );
    }
    return this.#ms;
  }
}
