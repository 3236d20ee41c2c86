import { listWorkers, queryRows, TimeoutService } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { uuidsBetween } from '../order/uuid';
import { Gauges } from './gauges';
import { Overview, type OverviewView } from './overview';

export interface StatisticsView extends OverviewView {
  readonly at: string;
  /** Of the last hour, of payments that were opened within a day: of the newest 20,000 of them. */
  readonly races: {
    /** Payments captured after `payBy` and still in time. */
    readonly wonInGrace: number;
    /** Payments that came after the close, and were refunded, revived or put on hold. */
    readonly lost: number;
  };
  readonly relayAgeSeconds: number;
  readonly timer: {
    /** Alarms in the timer store; null while it does not answer. */
    readonly alarms: number | null;
    readonly workersAlive: number;
    readonly workersSilent: number;
    /**
     * Since any worker that has not said goodbye told that it sweeps, as each does after a sweep and every
     * ten seconds between two; null when there is none.
     */
    readonly lastSweepAgoMs: number | null;
  };
}

/** No index tells when money came in: races are run by payments that were opened lately. */
const RACES_OPENED_WITHIN_MS = 24 * 3_600_000;
const MOST_RACES_LOOKED_AT = 20_000;

/** A worker that has missed telling of itself so many times is silent. */
const SILENT_AFTER_BEATS = 3;
/** Beside them: how long one sweep may take. */
const SWEEP_ALLOWANCE_MS = 5_000;

export function isSilent(worker: {
  readonly silentForMs: number;
  readonly sweepIntervalMs: number;
}): boolean {
  return worker.silentForMs > worker.sweepIntervalMs * SILENT_AFTER_BEATS + SWEEP_ALLOWANCE_MS;
}

/** The figures of `lastcall stats`. */
@Injectable()
export class Statistics {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly overview: Overview,
    private readonly gauges: Gauges,
    private readonly timeouts: TimeoutService,
  ) {}

  async read(): Promise<StatisticsView> {
    const [overview, gauges, races, timer] = await Promise.all([
      this.overview.read(),
      this.gauges.read(),
      this.readRaces(),
      this.readTimer(),
    ]);
    const at = new Date().toISOString();
    return { at, ...overview, races, relayAgeSeconds: gauges.relayAgeSeconds, timer };
  }

  async readRaces(): Promise<StatisticsView['races']> {
    const [since] = uuidsBetween(new Date(Date.now() - RACES_OPENED_WITHIN_MS));
    const [row] = await queryRows<{ won: number; lost: number }>(
      this.dataSource,
      `SELECT count(*) FILTER (WHERE o.paid_at > o.pay_by AND o.closed_at IS NULL)::int AS won,
              count(*) FILTER (WHERE o.closed_at <= p.recorded_at)::int AS lost
         FROM (SELECT order_id, status, recorded_at FROM payments
                WHERE id >= $1 ORDER BY id DESC LIMIT ${MOST_RACES_LOOKED_AT}) AS p
         JOIN orders o ON o.id = p.order_id
        WHERE p.status = 'succeeded' AND p.recorded_at > now() - interval '1 hour'`,
      [since],
    );
    return { wonInGrace: row?.won ?? 0, lost: row?.lost ?? 0 };
  }

  async readTimer(): Promise<StatisticsView['timer']> {
    const workers = await listWorkers(this.dataSource);
    const silent = workers.filter(isSilent).length;
    return {
      alarms: await this.timeouts.countAlarms().catch(() => null),
      workersAlive: workers.length - silent,
      workersSilent: silent,
      lastSweepAgoMs: workers[0] ? Math.round(workers[0].silentForMs) : null,
    };
  }
}
