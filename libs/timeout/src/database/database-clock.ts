import type { DataSource } from 'typeorm';
import { type Clock, type MeasuredClock, monotonicClock, systemClock } from '../clock';
import { timedRows } from './query-rows';

/** An offset known this well is as good as any. */
const GOOD_ERROR_MS = 5;
/** Clocks drift by a few milliseconds a minute; they are set by hand, too. */
const FRESH_FOR_MS = 30_000;

/**
 * The database's clock, estimated: a local clock plus the offset last measured. Decisions use
 * `now()` in SQL; this estimate only tells a driver how long to wait. The local one is monotonic,
 * so that setting this machine's clock changes nothing.
 */
export class DatabaseClock implements MeasuredClock {
  /** Undefined until it was measured once. */
  #offsetMs: number | undefined;
  #measuredMs = -Infinity;
  #freshening: Promise<unknown> | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly local: Clock = monotonicClock,
  ) {}

  nowMs(): number {
    return this.local.nowMs() + (this.#offsetMs ?? 0);
  }

  /** Milliseconds by which the database is ahead of what this machine's clock says now. */
  get offsetMs(): number {
    return Math.round(this.nowMs() - systemClock.nowMs());
  }

  async freshen(): Promise<void> {
    if (performance.now() - this.#measuredMs < FRESH_FOR_MS) return;
    this.#freshening ??= this.measure().finally(() => (this.#freshening = undefined));
    await this.#freshening;
  }

  /** Measures the offset by one round trip, and returns the database's now. */
  async measure(): Promise<Date> {
    const { rows, sentAtMs, answeredAtMs } = await timedRows<{ now: Date }>(
      this.dataSource,
      this.local,
      'SELECT clock_timestamp() AS now',
    );
    const { now } = rows[0] as { now: Date };
    this.#measuredMs = performance.now();
    this.#learn(now.getTime() - answeredAtMs, now.getTime() - sentAtMs);
    return now;
  }

  /** The offset is somewhere between these two: where a wait was one-sided, at its end. */
  #learn(leastMs: number, mostMs: number): void {
    const middleMs = Math.round((leastMs + mostMs) / 2);
    const isGood = (mostMs - leastMs) / 2 <= GOOD_ERROR_MS;
    if (this.#offsetMs === undefined || isGood) this.#offsetMs = middleMs;
    // A slow round trip only refutes what cannot be.
    else this.#offsetMs = Math.min(mostMs, Math.max(leastMs, this.#offsetMs));
  }
}
