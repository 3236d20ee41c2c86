import type { Clock } from '../clock';

interface Timer {
  readonly dueAtMs: number;
  readonly run: () => void;
}

/** A clock that only moves when it is told to; for tests. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #nowMs: number;
  readonly #waiting: (() => void)[] = [];

  constructor(startAt = '2030-01-01T00:00:00.000Z') {
    this.#nowMs = Date.parse(startAt);
  }

  now(): number {
    return this.#nowMs;
  }

  setTimer(run: () => void, delayMs: number): () => void {
    const timer = { dueAtMs: this.#nowMs + Math.max(0, delayMs), run };
    this.#timers.add(timer);
    for (const tell of this.#waiting.splice(0)) tell();
    return () => this.#timers.delete(timer);
  }

  /** Resolves when the next timer is set: what a test waits for before it moves the clock. */
  nextTimer(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Moves on, ringing what becomes due on the way, in the order in which it is due. */
  advance(byMs: number): void {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const due = [...this.#timers]
        .filter((timer) => timer.dueAtMs <= untilMs)
        .sort((one, other) => one.dueAtMs - other.dueAtMs)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#nowMs = Math.max(this.#nowMs, due.dueAtMs);
      due.run();
    }
    this.#nowMs = untilMs;
  }
}
