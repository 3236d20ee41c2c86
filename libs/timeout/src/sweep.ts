import type { DataSource } from 'typeorm';
import type { Alarms } from './alarms';
import type { Brake } from './brake';
import type { DatabaseClock } from './database-clock';
import { countOverdue } from './deadlines';
import type { Drain, DrainCounts } from './drain';
import { failpoint } from './failpoint';
import type { TimeoutTelemetry } from './telemetry';
import type { TimerStoreHealth } from './timer-store-health';

export interface SweepOptions {
  readonly intervalMs: number;
  /** The interval while the timer store is unhealthy. */
  readonly unhealthyIntervalMs: number;
  /**
   * What is overdue by less is left to the alarm that is about to ring for it, so that a sweep
   * does not take the credit (and the alert) for work that was on time.
   */
  readonly leaveToTimerMs: number;
}

export interface SweepCounts extends DrainCounts {
  /** Alarms armed because their deadline came within the horizon or the store lost them. */
  armed: number;
  /** How overdue the oldest deadline was when the sweep began; 0 when none was. */
  oldestLagMs: number;
}

/** What the sweep finds overdue by more than this beyond what it leaves to the timer, was missed. */
const LATE_MS = 1_000;

/**
 * The backstop: claims what is overdue, whatever the alarms did, and keeps the alarms armed.
 * Any number of instances may sweep at once; they share the work by `SKIP LOCKED`.
 */
export class Sweep {
  #lastRunAtMs = 0;

  constructor(
    private readonly dataSource: DataSource,
    private readonly drains: ReadonlyMap<string, Drain>,
    private readonly brake: Brake,
    private readonly alarms: Alarms,
    private readonly clock: DatabaseClock,
    private readonly health: TimerStoreHealth,
    private readonly telemetry: TimeoutTelemetry,
    readonly options: SweepOptions,
  ) {}

  /** True when a sweep should run now; asked every second. */
  isDue(nowMs: number): boolean {
    const { intervalMs, unhealthyIntervalMs } = this.options;
    const everyMs = this.health.healthy ? intervalMs : Math.min(intervalMs, unhealthyIntervalMs);
    // Half a second of tolerance, for ticks come a little early or late.
    return nowMs - this.#lastRunAtMs >= everyMs - 500;
  }

  /** False since arming failed, or since alarms that should have rung did not. */
  get timerStoreHealthy(): boolean {
    return this.health.healthy;
  }

  /** One sweep. Rejects when Postgres is away; a timer store that is away only makes it unhealthy. */
  async runOnce(
    leaveToTimerMs = this.health.healthy ? this.options.leaveToTimerMs : 0,
  ): Promise<SweepCounts> {
    const startedMs = performance.now();
    this.#lastRunAtMs = Date.now();
    await this.brake.refresh(await this.clock.measure());
    const drains = [...this.drains.values()].filter(({ kind }) => !this.brake.holds(kind));
    const kinds = drains.map(({ kind }) => kind);
    const { oldestLagMs } = await countOverdue(this.dataSource, kinds);
    const total: SweepCounts = {
      found: 0,
      changed: 0,
      lost: 0,
      putBack: 0,
      failed: 0,
      armed: 0,
      oldestLagMs: Math.max(0, Math.round(oldestLagMs)),
    };
    const results = await Promise.allSettled(
      drains.map((drain) => drain.run('sweep', leaveToTimerMs)),
    );
    for (const result of results) if (result.status === 'fulfilled') addCounts(total, result.value);
    await failpoint('sweep.drained');
    total.armed = await this.#arm(total.oldestLagMs);
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
    this.telemetry.swept({ ...total, tookMs: performance.now() - startedMs });
    return total;
  }

  async #arm(oldestLagMs: number): Promise<number> {
    try {
      const armed = await this.alarms.catchUp();
      const isLate = oldestLagMs > this.options.leaveToTimerMs + LATE_MS;
      this.health.become(!isLate, isLate ? `a deadline was ${oldestLagMs} ms overdue` : undefined);
      return armed;
    } catch (error) {
      this.alarms.forget();
      this.health.become(false, error);
      return 0;
    }
  }
}

function addCounts(total: DrainCounts, counts: DrainCounts): void {
  total.found += counts.found;
  total.changed += counts.changed;
  total.lost += counts.lost;
  total.putBack += counts.putBack;
  total.failed += counts.failed;
}
