import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Retention } from './retention';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './order/telemetry';

/** Half a million rows a run at the most: more than comes in ten minutes. */
const EVERY_MS = 10 * 60_000;

/** Tidies up every ten minutes, one run at a time; several workers share the rows by SKIP LOCKED. */
@Injectable()
export class RetentionSchedule implements BeforeApplicationShutdown {
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(
    private readonly retention: Retention,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  @Interval(EVERY_MS)
  tick(): void {
    if (this.#stopped) return;
    this.#running ??= this.retention
      .runOnce()
      .then(
        () => undefined,
        (error: unknown) => this.telemetry.failed('retention', error),
      )
      .finally(() => (this.#running = undefined));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }
}
