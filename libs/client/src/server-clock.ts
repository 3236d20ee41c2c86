/** Milliseconds that never jump, whatever somebody does to the clock of this machine. */
export type MonotonicNow = () => number;

/**
 * The server's time, told by a clock of ours that never jumps. An answer's `serverNow` was said
 * between sending and receiving, so it leaves a span of possible offsets. An offset within it stays:
 * a slow answer does not make a countdown stutter, and one that is out of it is put right.
 */
export class ServerClock {
  #offsetMs: number | undefined;

  constructor(readonly now: MonotonicNow) {}

  get isSet(): boolean {
    return this.#offsetMs !== undefined;
  }

  /** @param serverNow as an order has it @param sentAt by `now`, as is @param receivedAt */
  heard(serverNow: string, sentAt: number, receivedAt: number): void {
    const said = Date.parse(serverNow);
    const [least, most] = [said - receivedAt, said - sentAt];
    const offset = this.#offsetMs;
    if (offset === undefined || offset < least || offset > most)
      this.#offsetMs = (least + most) / 2;
  }

  /** Milliseconds since the epoch by the server's clock. */
  serverNowMs(): number {
    return this.now() + (this.#offsetMs ?? 0);
  }
}
