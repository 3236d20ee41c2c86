import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BACKGROUND } from '../data-source';
import { type Settings, SETTINGS } from '../config';
import { onDataSource } from '../order/order-rows';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { latenessLimitMs } from '../settings/lateness-limit';
import { INVARIANTS, type InvariantResult, runInvariants } from './run-invariants';

/** Broken by an outage too, and mended by its end: gauges of their own tell of it. */
const OF_LATENESS = new Set(['not_overdue', 'events_relayed']);

export interface InvariantReading {
  readonly name: string;
  /** 0, always; null when it could not be found out. */
  readonly violations: number | null;
}

/** Runs the invariants for the gauge, over the newest history; remembers what it found. */
@Injectable()
export class WatchInvariants {
  #last: readonly InvariantReading[] = [];

  constructor(
    @Inject(BACKGROUND) private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly config: Settings,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  get last(): readonly InvariantReading[] {
    return this.#last;
  }

  /** Ends after the statement under way when it is told to stop, and then knows nothing new. */
  async runOnce(stops: () => boolean = () => false): Promise<InvariantResult[]> {
    const limitMs = latenessLimitMs(this.config);
    try {
      const sql = onDataSource(this.dataSource);
      const results = await runInvariants(sql, { limitMs, stops });
      if (results.length < INVARIANTS.length) return results;
      this.#last = results.map(({ name, violations, incomplete }) => ({
        name,
        violations: incomplete ? null : violations,
      }));
      for (const { name, tookMs } of results.filter(({ incomplete }) => incomplete)) {
        const error = new Error(
          `It was given up after ${tookMs} ms: nobody knows whether it holds`,
        );
        this.telemetry.failed(`invariant ${name}`, error);
      }
      const broken = this.#last.filter(({ violations }) => violations);
      for (const { name, violations } of broken) {
        if (!OF_LATENESS.has(name)) this.telemetry.alert('invariant_broken', { name, violations });
      }
      return results;
    } catch (error) {
      // What was true an hour ago is not what the gauge is asked for.
      this.#last = INVARIANTS.map(({ name }) => ({ name, violations: null }));
      throw error;
    }
  }
}
