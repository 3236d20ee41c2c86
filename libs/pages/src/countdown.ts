/**
 * Time left until an instant of the server, by a clock that only goes forward: a browser's own time
 * may be minutes off, and jumps. Counted from when the question was sent, so that what is shown is
 * never more than what is left.
 */
export class Countdown {
  #endsAtMs = 0;

  /** @param nowMs a monotonic clock in milliseconds: `performance.now` */
  constructor(private readonly nowMs: () => number) {}

  /** For {@link anchor}: when the question is sent. */
  mark(): number {
    return this.nowMs();
  }

  /** Takes an answer of the server; each answer corrects what the clocks have drifted apart. */
  anchor(answer: { payBy: string | null; serverNow: string }, askedAtMs: number): void {
    const leftMs =
      answer.payBy === null ? 0 : Date.parse(answer.payBy) - Date.parse(answer.serverNow);
    this.#endsAtMs = askedAtMs + leftMs;
  }

  msLeft(): number {
    return Math.max(0, this.#endsAtMs - this.nowMs());
  }
}
