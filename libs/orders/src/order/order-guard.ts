import { type Lock, type Transaction, TimeoutService, Uuids } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { type ChangeOfMany, changeStatus, type StatusChange } from './change-status';
import { type ChangedOrder, ChangedOrders } from './changed-orders';
import { LastcallError, orderNotFound } from './errors';
import { orderLockKey } from './order';
import { orderIdOf } from './given-id';
import type { By, CloseReason, OrderStatus } from './order.lifecycle';
import type { OrderDraft } from './order-hook';
import { OrderHooks } from './order-hooks';
import type { StockLine } from './stock-port';
import { rehearse } from './rehearse';
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
  /** How often its customer was given more time. */
  readonly extensions: number;
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
  extensions: number;
}

/** The change that is reported; an order that is placed comes from nowhere. */
interface Transition {
  readonly from: OrderStatus | 'none';
  readonly to: OrderStatus;
  readonly by: By;
  readonly reason?: string | undefined;
  readonly closeReason?: CloseReason | undefined;
}

/**
 * Lock, check, update: the one way to change an order's status. The lock saves work; the
 * conditional update in change-status.ts decides, so everything stays right without it.
 */
@Injectable()
export class OrderGuard {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(ORDER_LOCK) private readonly lock: Lock,
    private readonly timeouts: TimeoutService,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
    private readonly hooks: OrderHooks,
  ) {}

  /**
   * Runs `work` on one order with its lock held, in one transaction: `work` checks the order and
   * changes it conditionally.
   * @param skipsHeld true for an order that is known to be there: where somebody holds its row, it is
   * busy at once
   * @param dryRun true rolls it all back at its end, and answers as if it were done
   * @throws {LastcallError} order_not_found; busy when somebody holds the order for too long
   */
  async withOrder<T>(
    orderId: string,
    work: (order: GuardedOrder, tx: Transaction) => Promise<T>,
    {
      skipsHeld = false,
      dryRun = false,
    }: { readonly skipsHeld?: boolean; readonly dryRun?: boolean } = {},
  ): Promise<T> {
    const id = orderIdOf(orderId);
    const sinceMs = performance.now();
    const held = await this.lock.acquireOne(orderLockKey(id));
    this.telemetry.locked(held.outcome);
    try {
      if (held.outcome === 'contended') throw beingChanged();
      const guarded = async (tx: Transaction): Promise<T> => {
        const order = await readGuarded(tx, id, skipsHeld);
        if (!order) throw skipsHeld ? beingChanged() : orderNotFound();
        return work(order, tx);
      };
      return await rehearse(dryRun, this.dataSource, guarded, { sinceMs });
    } finally {
      await held.release();
    }
  }

  /**
   * Changes the status of those orders that still are in `from`, arms what follows and reports it
   * after the commit. Orders that are not in the answer were somebody else's.
   */
  async change(tx: Transaction, change: StatusChange): Promise<ChangedOrder[]> {
    return (await this.#change(tx, { ...change, orderIds: Uuids.of(change.orderIds) })).each;
  }

  /**
   * @internal {@link OrderGuard.change} for sets so large that nobody takes them apart without need: how
   * many have changed.
   */
  async changeMany(tx: Transaction, change: ChangeOfMany): Promise<number> {
    return (await this.#change(tx, { ...change, isCounted: !this.hooks.hearOfOrders })).count;
  }

  async #change(tx: Transaction, change: ChangeOfMany): Promise<ChangedOrders> {
    const changed = await changeStatus(tx, change);
    await this.#follow(tx, change, changed);
    return changed;
  }

  /** The same for orders that the caller's statement has just placed, with their deadlines. */
  placed(tx: Transaction, orders: readonly ChangedOrder[]): Promise<void> {
    const change = { from: 'none', to: 'pending_payment', by: 'customer' } as const;
    return this.#follow(tx, change, ChangedOrders.of(orders));
  }

  /** Which of these may not be placed, by the word of the host's hooks and of its stock. */
  beforePlace(
    tx: Transaction,
    drafts: readonly OrderDraft[],
  ): Promise<ReadonlyMap<string, LastcallError>> {
    return this.hooks.beforePlace(tx, drafts);
  }

  /** False where the host's own stock is short of a closed order's lines. */
  reserveAgain(tx: Transaction, lines: readonly StockLine[]): Promise<boolean> {
    return this.hooks.reserveAgain(tx, lines);
  }

  /**
   * Has the host's own stock hear of pieces that came back of an order that stays as it is.
   * @throws {LastcallError} restock_not_supported
   */
  takeBack(tx: Transaction, lines: readonly StockLine[]): Promise<void> {
    return this.hooks.takeBack(tx, lines);
  }

  async #follow(tx: Transaction, transition: Transition, changed: ChangedOrders): Promise<void> {
    if (changed.count === 0) return;
    if (changed.haveDeadlines) {
      this.timeouts.armed(
        tx,
        changed.each.flatMap(({ orderId, version, deadline }) =>
          deadline ? [{ ...deadline, subjectId: orderId, version }] : [],
        ),
      );
    }
    tx.afterCommit(() => this.#report(transition, changed));
    const { from, to, by, reason, closeReason } = transition;
    const told = { from, to, by, reason: reason ?? closeReason ?? null };
    await this.hooks.run(tx, told, changed);
  }

  #report({ from, to, by }: Transition, changed: ChangedOrders): void {
    this.telemetry.transitions(from, to, by, changed.count);
    if (to !== 'closed') return;
    for (const { lagMs, count } of changed.lags()) {
      if (this.telemetry.closedMany) this.telemetry.closedMany(by, lagMs, count);
      else for (let told = 0; told < count; told++) this.telemetry.closed(by, lagMs);
    }
  }
}

function beingChanged(): LastcallError {
  return new LastcallError('busy', 'This order is being changed; try again in a moment');
}

async function readGuarded(
  tx: Transaction,
  orderId: string,
  skipsHeld: boolean,
): Promise<GuardedOrder | undefined> {
  // The row's lock makes whoever opens a payment (start-payment.ts) wait for us, or us for them.
  const [row] = await tx.rows<GuardedRow>(
    `SELECT id, customer_id, status, version, closes_at, pay_by <= now() AS window_over,
            closes_at <= now() AS overdue,
            greatest(extensions, extended::int)::int AS extensions
       FROM orders WHERE id = $1 FOR NO KEY UPDATE ${skipsHeld ? 'SKIP LOCKED' : ''}`,
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
    extensions: row.extensions,
  };
}
