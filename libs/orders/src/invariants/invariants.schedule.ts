import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { WatchInvariants } from './watch-invariants';

/** A run reads for a second or so, in every worker: often enough to know within minutes. */
const EVERY_MS = 5 * 60_000;

/** Runs the invariants every five minutes, in every worker: each exports what it found. */
@Injectable()
export class InvariantsSchedule implements BeforeApplicationShutdown {
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(
    private readonly invariants: WatchInvariants,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  @Interval(EVERY_MS)
  tick(): void {
    if (this.#stopped) return;
    this.#running ??= this.invariants
      .runOnce()
      .then(
        () => undefined,
        (error: unknown) => this.telemetry.failed('invariants', error),
      )
      .finally(() => (this.#running = undefined));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }
}
