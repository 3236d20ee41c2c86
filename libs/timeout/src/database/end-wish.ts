const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Hears that the process is to end, while something is waited for that its shutdown would wait for: Nest ends nothing
 * before its start is over. A signal that nobody else listens to ends the process by itself, and is left to that.
 */
export class EndWish {
  #isWished = false;
  #hurry: () => void = () => undefined;
  readonly #wished = new Promise<void>((resolve) => (this.#hurry = resolve));
  readonly #heard = SIGNALS.filter((signal) => process.listenerCount(signal) > 0);

  constructor() {
    for (const signal of this.#heard) process.on(signal, this.#wish);
  }

  get isWished(): boolean {
    return this.#isWished;
  }

  /** Resolves with `waiting`, or as soon as the process is to end. */
  orEnd(waiting: Promise<void>): Promise<void> {
    return Promise.race([waiting, this.#wished]);
  }

  forget(): void {
    for (const signal of this.#heard) process.off(signal, this.#wish);
  }

  readonly #wish = (): void => {
    this.#isWished = true;
    this.#hurry();
  };
}
