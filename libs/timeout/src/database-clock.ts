import type { DataSource } from 'typeorm';
import { type Clock, systemClock } from './clock';
import { queryRows } from './transaction';

/** An offset known this well is as good as any. */
const GOOD_ERROR_MS = 5;

/**
 * The database's clock, estimated: this machine's clock plus the offset last measured. Decisions
 * use `now()` in SQL; this estimate only tells a driver how long to wait.
 */
export class DatabaseClock implements Clock {
  #offsetMs = 0;

  constructor(
    private readonly dataSource: DataSource,
    private readonly local: Clock = systemClock,
  ) {}

  nowMs(): number {
    return this.local.nowMs() + this.#offsetMs;
  }

  /** Milliseconds by which the database is ahead of this machine. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Measures the offset, at the middle of one round trip, and returns the database's now. */
  async measure(): Promise<Date> {
    const before = this.local.nowMs();
    const [row] = await queryRows<{ now: Date }>(
      this.dataSource,
      'SELECT clock_timestamp() AS now',
    );
    const after = this.local.nowMs();
    const now = (row as { now: Date }).now;
    // A slow round trip says little about the offset; a large change is believed all the same.
    const measuredMs = Math.round(now.getTime() - (before + after) / 2);
    const errorMs = (after - before) / 2;
    if (errorMs <= GOOD_ERROR_MS || Math.abs(measuredMs - this.#offsetMs) > errorMs) {
      this.#offsetMs = measuredMs;
    }
    return now;
  }
}
