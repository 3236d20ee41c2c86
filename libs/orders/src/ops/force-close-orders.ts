import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import type { ErrorCode, LastcallError } from '../order/errors';
import { ForceCloseOrder } from '../closing/force-close-order';
import { HAS_OPEN_PAYMENT } from '../order/open-payment';
import type { OrderStatus } from '../order/order.lifecycle';
import { onDataSource } from '../order/order-rows';
import type { Accountable } from '../order/operator-action';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { isUuid } from '../order/uuid';
import { toEach } from './each-subject';

/** Orders to close, by what they are; at least one condition beside the limit. */
export interface ClosableFilter {
  readonly customerId?: string | undefined;
  readonly overdue?: boolean | undefined;
  readonly since?: Date | undefined;
  readonly limit: number;
}

/** What closing this order by force would do, as it stands now. */
export interface ClosePlan {
  readonly orderId: string;
  /** `close` at once; `ask_provider` first, as a payment is open there; `skip` for `why`. */
  readonly action: 'close' | 'ask_provider' | 'skip';
  readonly status: OrderStatus | null;
  readonly customerId: string | null;
  readonly why: 'order_not_found' | 'order_not_closable' | null;
}

/** What became of one order. */
export interface CloseResult {
  readonly orderId: string;
  /**
   * `closing`: the provider has not answered yet; a worker goes on. `failed` with `unavailable`: the
   * database did not answer, and the order may be closed all the same, or it refused, as the message says.
   */
  readonly outcome: 'closed' | 'closing' | 'skipped' | 'failed';
  /** Its status afterwards, or the one that made us skip it. */
  readonly status: OrderStatus | null;
  readonly why: ErrorCode | null;
  readonly message: string | null;
}

export interface CloseRun extends Accountable {
  /** Runs the real transactions and rolls each back. */
  readonly dryRun?: boolean;
  /** Aborted: begins no further order. */
  readonly signal?: AbortSignal;
  onResult?(result: CloseResult): void;
}

/** Orders closed at once: each takes a connection of the API's pool of 20. */
const CONCURRENCY = 8;

/** An operator closes orders, one or many: plan first, then each through the guard, checked again. */
@Injectable()
export class ForceCloseOrders {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly one: ForceCloseOrder,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** Ids of unpaid orders that match, oldest deadline first. From the deadlines, which are few. */
  async find(filter: ClosableFilter): Promise<string[]> {
    const rows = await onDataSource(this.dataSource).rows<{ id: string }>(
      // Also those whose deadline is held: they wait for nobody but an operator.
      // Each order by its key, whatever Postgres thinks of how many there are.
      `WITH waiting AS MATERIALIZED (
         SELECT subject_id, min(due_at) AS due_at FROM (
           SELECT subject_id, due_at FROM deadlines WHERE kind = 'payment'
            UNION ALL
           SELECT subject_id, due_at FROM held_deadlines WHERE kind = 'payment') AS d
          GROUP BY subject_id)
       SELECT o.id FROM waiting d, LATERAL (
         SELECT id, status, customer_id, created_at, closes_at FROM orders
          WHERE id = d.subject_id OFFSET 0) AS o
        WHERE o.status = 'pending_payment'
          AND ($1::text IS NULL OR o.customer_id = $1)
          AND ($2::timestamptz IS NULL OR o.created_at >= $2)
          AND (NOT $3 OR o.closes_at <= now())
        ORDER BY d.due_at, o.id LIMIT $4`,
      [filter.customerId ?? null, filter.since ?? null, filter.overdue ?? false, filter.limit],
    );
    return rows.map(({ id }) => id);
  }

  /** What would happen to each of these orders, in their order; changes nothing. */
  async plan(orderIds: readonly string[]): Promise<ClosePlan[]> {
    const rows = await onDataSource(this.dataSource).rows<{
      id: string;
      status: OrderStatus;
      customer_id: string;
      open: boolean;
    }>(
      `SELECT o.id, o.status, o.customer_id, ${HAS_OPEN_PAYMENT} AS open
         FROM orders o WHERE o.id = ANY ($1::uuid[])`,
      [orderIds.filter(isUuid)],
    );
    const found = new Map(rows.map((row) => [row.id, row]));
    return orderIds.map((orderId) => {
      const row = found.get(orderId);
      if (!row) {
        const why = 'order_not_found';
        return { orderId, action: 'skip', status: null, customerId: null, why };
      }
      const known = { orderId, status: row.status, customerId: row.customer_id };
      if (row.status !== 'pending_payment') {
        return { ...known, action: 'skip', why: 'order_not_closable' };
      }
      return { ...known, action: row.open ? 'ask_provider' : 'close', why: null };
    });
  }

  /**
   * Closes the orders, a few at once; what was refused or failed is a result like the others. There
   * is none of orders that were not begun, as it was aborted or the database is gone.
   */
  async run(orderIds: readonly string[], run: CloseRun): Promise<CloseResult[]> {
    const results = await toEach<CloseResult>(orderIds, {
      ...{ what: 'force-close', concurrency: CONCURRENCY, signal: run.signal },
      ...{ dataSource: this.dataSource, telemetry: this.telemetry, refused: notClosed },
      act: (orderId) => this.#close(orderId, run),
      onResult: (result) => run.onResult?.(result),
    });
    return results.flatMap((result) => result ?? []);
  }

  async #close(orderId: string, run: CloseRun): Promise<CloseResult> {
    const { status } = await this.one.forceClose(orderId, run);
    const outcome = status === 'closing' ? 'closing' : 'closed';
    return { orderId, outcome, status, why: null, message: null };
  }
}

function notClosed(orderId: string, { code: why, message, fields }: LastcallError): CloseResult {
  const isRefused = why === 'order_not_closable' || why === 'order_not_found';
  const status = (fields.status as OrderStatus | undefined) ?? null;
  return { orderId, outcome: isRefused ? 'skipped' : 'failed', status, why, message };
}
