import { countOverdue } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import type { RefundStatus } from '../order/order';
import { DEADLINE_KINDS } from '../order/deadline-table';
import { onDataSource } from '../order/order-rows';
import { countRefunds } from '../money/count-refunds';

export interface OverviewView {
  /** Unpaid orders by when they are due. */
  readonly open: {
    readonly total: number;
    readonly dueIn1m: number;
    readonly dueIn5m: number;
    readonly dueIn10m: number;
  };
  readonly closing: number;
  readonly overdueDeadlines: number;
  readonly oldestLagMs: number;
  /** Closes of the last hour: how late, in milliseconds, and by whom. */
  readonly lag: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  readonly closedBy: Readonly<Record<string, number>>;
  /** Above 10,000, `succeeded` is an estimate: see {@link countRefunds}. */
  readonly refunds: Readonly<Record<RefundStatus, number>>;
  readonly heldDeadlines: number;
  readonly heldWebhooks: number;
  readonly heldPayments: number;
}

/** What an operator wants to see first. */
@Injectable()
export class Overview {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  async read(): Promise<OverviewView> {
    const [overdue, open, recent, refunds, held] = await Promise.all([
      countOverdue(this.dataSource, DEADLINE_KINDS),
      this.#open(),
      this.#recent(),
      countRefunds(onDataSource(this.dataSource)),
      readHeld(this.dataSource),
    ]);
    const { closing, ...due } = open;
    return {
      open: due,
      closing,
      overdueDeadlines: overdue.overdue,
      oldestLagMs: Math.max(0, Math.round(overdue.oldestLagMs)),
      ...recent,
      refunds,
      ...held,
    };
  }

  /** From the deadlines, which are few, and not from the orders, which are many. */
  async #open(): Promise<OverviewView['open'] & { closing: number }> {
    const [row] = await onDataSource(this.dataSource).rows<Record<string, string>>(
      `SELECT count(*) FILTER (WHERE o.status = 'pending_payment') AS total,
              count(*) FILTER (WHERE o.status = 'closing') AS closing,
              ${[1, 5, 10]
                .map(
                  (minutes) =>
                    `count(*) FILTER (WHERE o.status = 'pending_payment'
                                        AND d.due_at <= now() + interval '${minutes} min') AS in${minutes}`,
                )
                .join(', ')}
         FROM (SELECT subject_id, max(due_at) AS due_at FROM deadlines
                WHERE kind IN ('payment', 'closing') GROUP BY subject_id) AS d
         JOIN orders o ON o.id = d.subject_id`,
    );
    const number = (name: string): number => Number(row?.[name] ?? 0);
    return {
      total: number('total'),
      closing: number('closing'),
      dueIn1m: number('in1'),
      dueIn5m: number('in5'),
      dueIn10m: number('in10'),
    };
  }

  async #recent(): Promise<Pick<OverviewView, 'lag' | 'closedBy'>> {
    // Events are found from the newest ids on; an hour of them is what this may read.
    const rows = await onDataSource(this.dataSource).rows<{
      by: string;
      n: string;
      p50: number | null;
      p99: number | null;
      max: number | null;
    }>(
      `WITH closed AS (
         SELECT e.by, extract(epoch FROM o.closed_at - o.closes_at) * 1000 AS lag_ms
           FROM (SELECT order_id, by, to_status, at FROM order_events
                  ORDER BY tx DESC LIMIT 20000) e
           JOIN orders o ON o.id = e.order_id
          WHERE e.to_status = 'closed' AND e.at > now() - interval '1 hour'
       )
       SELECT coalesce(by, 'all') AS by, count(*) AS n,
              percentile_cont(0.5) WITHIN GROUP (ORDER BY lag_ms)
                FILTER (WHERE by IN ('timer', 'sweep', 'passive')) AS p50,
              percentile_cont(0.99) WITHIN GROUP (ORDER BY lag_ms)
                FILTER (WHERE by IN ('timer', 'sweep', 'passive')) AS p99,
              max(lag_ms) FILTER (WHERE by IN ('timer', 'sweep', 'passive')) AS max
         FROM closed GROUP BY ROLLUP (by)`,
    );
    const all = rows.find(({ by }) => by === 'all');
    return {
      lag: {
        p50Ms: Math.round(all?.p50 ?? 0),
        p99Ms: Math.round(all?.p99 ?? 0),
        maxMs: Math.round(Number(all?.max ?? 0)),
      },
      closedBy: Object.fromEntries(
        rows.filter(({ by }) => by !== 'all').map(({ by, n }) => [by, Number(n)]),
      ),
    };
  }
}

/** Each by an index of what is held alone: little, whatever the tables hold. */
export async function readHeld(
  dataSource: DataSource,
): Promise<Pick<OverviewView, 'heldDeadlines' | 'heldWebhooks' | 'heldPayments'>> {
  const [row] = await onDataSource(dataSource).rows<Record<string, string>>(
    `SELECT (SELECT count(*) FROM held_deadlines) AS deadlines,
            (SELECT count(*) FROM webhook_events WHERE status = 'held') AS webhooks,
            (SELECT count(*) FROM payments WHERE hold_reason IS NOT NULL) AS payments`,
  );
  return {
    heldDeadlines: Number(row?.deadlines ?? 0),
    heldWebhooks: Number(row?.webhooks ?? 0),
    heldPayments: Number(row?.payments ?? 0),
  };
}
