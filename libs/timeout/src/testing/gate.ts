/** Holds whoever passes, until it is opened. */
export class Gate {
  readonly #opened: Promise<void>;
  readonly #reached: Promise<void>;
  #open = (): void => undefined;
  #reach = (): void => undefined;

  constructor() {
    this.#opened = new Promise((resolve) => (this.#open = resolve));
    this.#reached = new Promise((resolve) => (this.#reach = resolve));
  }

  /** Resolves when it is open. */
  async pass(): Promise<void> {
    this.#reach();
    await this.#opened;
  }

  /** Resolves when somebody stands before it. */
  reached(): Promise<void> {
    return this.#reached;
  }

  open(): void {
    this.#open();
  }
}
