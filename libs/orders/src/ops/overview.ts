import { countOverdue, STILL_HELD } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import type { RefundStatus } from '../order/order';
import { DEADLINE_KINDS } from '../order/deadline-table';
import { onDataSource } from '../order/order-rows';
import { countRefunds } from '../money/count-refunds';
import { readRecentCloses, type RecentCloses } from './close-figures';

export interface OverviewView extends RecentCloses {
  /** Unpaid orders by when they are due. */
  readonly open: {
    readonly total: number;
    /** True where there are so many that the ones that are due last were not counted. */
    readonly isMore: boolean;
    readonly dueIn1m: number;
    readonly dueIn5m: number;
    readonly dueIn10m: number;
    /** In the next minute, the one after it, ... fifteen of them. */
    readonly dueByMinute: readonly number[];
  };
  readonly closing: number;
  readonly overdueDeadlines: number;
  readonly oldestLagMs: number;
  /** Above 10,000, `succeeded` is an estimate: see `countRefunds`. */
  readonly refunds: Readonly<Record<RefundStatus, number>>;
  readonly heldDeadlines: number;
  readonly heldWebhooks: number;
  readonly heldPayments: number;
}

/** A look must not read a table: so many deadlines are asked whose they are, the next ones first. */
const MOST_LOOKED_AT = 30_000;
const MINUTES = 15;

/** What an operator wants to see first. */
@Injectable()
export class Overview {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  async read(): Promise<OverviewView> {
    const sql = onDataSource(this.dataSource);
    const [standing, recent] = await Promise.all([this.readStanding(), readRecentCloses(sql)]);
    return { ...standing, ...recent };
  }

  /** How things stand, without what has happened lately. */
  async readStanding(): Promise<Omit<OverviewView, keyof RecentCloses>> {
    const [overdue, open, refunds, held] = await Promise.all([
      countOverdue(this.dataSource, DEADLINE_KINDS),
      this.#open(),
      countRefunds(onDataSource(this.dataSource)),
      readHeld(this.dataSource),
    ]);
    const { closing, ...due } = open;
    return {
      open: due,
      closing,
      overdueDeadlines: overdue.overdue,
      oldestLagMs: Math.max(0, Math.round(overdue.oldestLagMs)),
      refunds,
      ...held,
    };
  }

  /** From the deadlines, which are few, and not from the orders, which are many. */
  async #open(): Promise<OverviewView['open'] & { closing: number }> {
    const rows = await onDataSource(this.dataSource).rows<{
      status: string;
      minute: number;
      n: number;
      looked_at: number;
    }>(
      `WITH near AS MATERIALIZED (
         SELECT subject_id, due_at FROM deadlines WHERE kind IN ('payment', 'closing')
          ORDER BY due_at LIMIT ${MOST_LOOKED_AT})
       SELECT o.status, least(${MINUTES}, floor(extract(epoch FROM d.due_at - now()) / 60))::int AS minute,
              count(*)::int AS n, (SELECT count(*)::int FROM near) AS looked_at
         FROM (SELECT subject_id, max(due_at) AS due_at FROM near GROUP BY subject_id) AS d,
              LATERAL (SELECT status FROM orders WHERE id = d.subject_id LIMIT 1) AS o
        WHERE o.status IN ('pending_payment', 'closing') GROUP BY 1, 2`,
    );
    const count = (status: string, before = Infinity): number =>
      rows
        .filter((row) => row.status === status && row.minute < before)
        .reduce((sum, { n }) => sum + n, 0);
    const dueIn = (minutes: number): number => count('pending_payment', minutes);
    const byMinute = Array.from({ length: MINUTES }, (_, i) => dueIn(i + 1) - dueIn(i));
    return {
      total: dueIn(Infinity),
      isMore: rows.some((row) => row.looked_at === MOST_LOOKED_AT),
      closing: count('closing'),
      dueIn1m: dueIn(1),
      dueIn5m: dueIn(5),
      dueIn10m: dueIn(10),
      dueByMinute: byMinute,
    };
  }
}

/** Each by an index of what is held alone: little, whatever the tables hold. */
export async function readHeld(
  dataSource: DataSource,
): Promise<Pick<OverviewView, 'heldDeadlines' | 'heldWebhooks' | 'heldPayments'>> {
  const [row] = await onDataSource(dataSource).rows<Record<string, string>>(
    `SELECT (SELECT count(*) FROM ${STILL_HELD}) AS deadlines,
            (SELECT count(*) FROM webhook_events WHERE status = 'held') AS webhooks,
            (SELECT count(*) FROM payments WHERE hold_reason IS NOT NULL) AS payments`,
  );
  return {
    heldDeadlines: Number(row?.deadlines ?? 0),
    heldWebhooks: Number(row?.webhooks ?? 0),
    heldPayments: Number(row?.payments ?? 0),
  };
}
