import { inTransaction, type Lock, type Transaction, TimeoutService } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { changeStatus, type ChangedOrder, type StatusChange } from './change-status';
import { LastcallError } from './errors';
import { orderLockKey } from './order';
import type { OrderStatus } from './order.lifecycle';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './telemetry';

export const ORDER_LOCK = Symbol('OrderLock');

/** What the check of the guard sees: the order's row at this moment. */
export interface GuardedOrder {
  readonly id: string;
  readonly customerId: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly closesAt: Date | null;
  readonly isWindowOver: boolean;
  readonly isOverdue: boolean;
  readonly openPayments: number;
  readonly extended: boolean;
}

interface GuardedRow {
  id: string;
  customer_id: string;
  status: OrderStatus;
  version: number;
  closes_at: Date | null;
  window_over: boolean | null;
  overdue: boolean | null;
  open_payments: string;
  extended: boolean;
}

/**
 * Lock, check, update: the one way to change an order's status. The lock saves work; the
 * conditional update in {@link changeStatus} decides, so everything stays right without it.
 */
@Injectable()
export class OrderGuard {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(ORDER_LOCK) private readonly lock: Lock,
    private readonly timeouts: TimeoutService,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /**
   * Runs `work` on one order with its lock held, in one transaction: `work` checks the order and
   * changes it conditionally.
   * @throws {LastcallError} order_not_found; busy when somebody holds the order for too long
   */
  async withOrder<T>(
    orderId: string,
    work: (order: GuardedOrder, tx: Transaction) => Promise<T>,
  ): Promise<T> {
    const held = await this.lock.acquireOne(orderLockKey(orderId));
    this.telemetry.locked(held.outcome);
    try {
      if (held.outcome === 'contended') {
        throw new LastcallError('busy', 'This order is being changed; try again in a moment');
      }
      return await inTransaction(this.dataSource, async (tx) => {
        const order = await readGuarded(tx, orderId);
        if (!order) throw orderNotFound();
        return work(order, tx);
      });
    } finally {
      await held.release();
    }
  }

  /** Changes the status of orders, arms what follows and reports it; see {@link changeStatus}. */
  async change(tx: Transaction, change: StatusChange): Promise<ChangedOrder[]> {
    const changed = await changeStatus(tx, change);
    if (changed.length === 0) return changed;
    this.timeouts.armed(
      tx,
      changed.flatMap(({ orderId, version, deadline }) =>
        deadline ? [{ ...deadline, subjectId: orderId, version }] : [],
      ),
    );
    tx.afterCommit(() => this.#report(change, changed));
    return changed;
  }

  #report(change: StatusChange, changed: readonly ChangedOrder[]): void {
    this.telemetry.transitions(change.from, change.to, change.by, changed.length);
    if (change.to !== 'closed') return;
    for (const { closesAt, changedAt } of changed) {
      if (closesAt) this.telemetry.closed(change.by, changedAt.getTime() - closesAt.getTime());
    }
  }
}

async function readGuarded(tx: Transaction, orderId: string): Promise<GuardedOrder | undefined> {
  // The row's lock makes whoever opens a payment (start-payment.ts) wait for us, or us for them.
  const [row] = await tx.rows<GuardedRow>(
    `SELECT id, customer_id, status, version, closes_at, pay_by <= now() AS window_over,
            closes_at <= now() AS overdue, extended
       FROM orders WHERE id = $1 FOR NO KEY UPDATE`,
    [orderId],
  );
  if (!row) return undefined;
  // A statement of its own: its snapshot sees what was committed while we waited for the row.
  const [open] = await tx.rows<{ n: string }>(
    `SELECT count(*) AS n FROM payments WHERE order_id = $1 AND status = 'open'`,
    [orderId],
  );
  return {
    id: row.id,
    customerId: row.customer_id,
    status: row.status,
    version: row.version,
    closesAt: row.closes_at,
    isWindowOver: row.window_over ?? false,
    isOverdue: row.overdue ?? false,
    openPayments: Number(open?.n ?? 0),
    extended: row.extended,
  };
}

/** The same answer for an order that does not exist and for one that is somebody else's. */
export function orderNotFound(): LastcallError {
  return new LastcallError('order_not_found', 'There is no such order');
}
