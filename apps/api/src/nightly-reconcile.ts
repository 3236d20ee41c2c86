import { Reconcile } from '@app/orders';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { PrometheusTelemetry } from './metrics/prometheus-telemetry';

/**
 * Compares our books with the providers' each night, in every worker at the same time: one of them
 * gets to it. Here and not in the order module, as `ScheduleModule.forRoot()` in a library makes the
 * crons of a host that imports it as well fire twice (docs/adr/0022).
 */
@Injectable()
export class NightlyReconcile implements BeforeApplicationShutdown {
  readonly #stopping = new AbortController();
  #underWay: Promise<void> | undefined;

  constructor(
    private readonly reconcile: Reconcile,
    private readonly telemetry: PrometheusTelemetry,
  ) {}

  /** 03:17 UTC: at night, and not on the hour, when everybody's jobs run. */
  @Cron('17 3 * * *', { name: 'reconcile', timeZone: 'UTC', waitForCompletion: true })
  async runOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#underWay = this.#run();
    await this.#underWay;
  }

  /** A run under way ends, waiting for no page of a ledger; tomorrow's, or another worker's, goes on behind the last. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#stopping.abort();
    await this.#underWay;
  }

  async #run(): Promise<void> {
    try {
      await this.reconcile.runOnce(this.#stopping.signal);
    } catch (error) {
      this.telemetry.failed('reconcile', error);
    }
  }
}
