import type { TimeoutTelemetry } from '../telemetry';

/**
 * Whether the timer's store can be trusted to ring on time. What counts is that alarms are taken
 * and that deadlines are not late, not that the store answers a PING.
 */
export class TimerStoreHealth {
  #healthy = true;

  constructor(private readonly telemetry: TimeoutTelemetry) {}

  get healthy(): boolean {
    return this.#healthy;
  }

  /** Reports a change once. `why` is the error or the lateness that made it unhealthy. */
  become(healthy: boolean, why?: unknown): void {
    if (healthy === this.#healthy) return;
    this.#healthy = healthy;
    this.telemetry.timerStore(healthy ? 'healthy' : 'unhealthy', why);
  }
}
