import { TimeoutService } from '@app/timeout';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { RelayEvents } from './relay-events';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

const EVERY_MS = 250;
const IN_A_BURST_EVERY_MS = 2_000;

/**
 * Relays events every quarter of a second; one run at a time. In a burst of closing it relays one
 * batch every two seconds: orders close on time first, and the shop hears of it right after.
 */
@Injectable()
export class RelaySchedule implements BeforeApplicationShutdown {
  #running: Promise<void> | undefined;
  #stopped = false;
  #endedMs = 0;

  constructor(
    private readonly relay: RelayEvents,
    private readonly timeouts: TimeoutService,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  @Interval(EVERY_MS)
  tick(): void {
    const { isBursting } = this.timeouts;
    const soonest = this.#endedMs + (isBursting ? IN_A_BURST_EVERY_MS : 0);
    if (this.#stopped || performance.now() < soonest) return;
    this.#running ??= this.relay
      .runOnce(() => this.timeouts.isBursting)
      .then(
        () => undefined,
        (error: unknown) => this.telemetry.failed('relay events', error),
      )
      .finally(() => {
        this.#running = undefined;
        this.#endedMs = performance.now();
      });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }
}
