import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Reconcile } from './reconcile';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/** At night, and not on the hour, when everybody's jobs run. */
const DAILY = '17 3 * * *';

/** Reconciles once a day; the count left over is a gauge and an alert. */
@Injectable()
export class ReconcileSchedule implements BeforeApplicationShutdown {
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    private readonly reconcile: Reconcile,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  @Cron(DAILY)
  tick(): void {
    if (this.#stop.signal.aborted) return;
    this.#running ??= this.reconcile
      .runOnce(this.#stop.signal)
      .then(
        () => undefined,
        (error: unknown) => this.telemetry.failed('reconcile', error),
      )
      .finally(() => (this.#running = undefined));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
