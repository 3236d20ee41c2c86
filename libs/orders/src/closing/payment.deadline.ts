import {
  type BatchResult,
  type Claimant,
  type DeadlineHandler,
  type DueDeadline,
  failpoint,
  TimeoutService,
  type Transaction,
  uuidArray,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { HandlesKind } from '../order/handles-kind';
import type { ChangedOrder } from '../order/change-status';
import { orderLockKey } from '../order/order';
import { OrderGuard } from '../order/order-guard';

/**
 * The payment deadline: closes overdue orders in sets. The fast lane takes those without a payment
 * open at the provider, nearly all; the others go behind the fence, to the careful lane.
 */
@Injectable()
@HandlesKind('payment')
export class PaymentDeadline implements DeadlineHandler {
  readonly maxBatch = 8_000;
  readonly lockKey = orderLockKey;

  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
  ) {}

  async handle(due: readonly DueDeadline[], tx: Transaction, by: Claimant): Promise<BatchResult> {
    const ids = due.map(({ subjectId }) => subjectId);
    const overdue = await lockOverdue(tx, ids);
    const change = {
      from: 'pending_payment',
      by,
      onlyIfOverdue: true,
      closeReason: 'payment_timeout',
    } as const;
    // A statement after the locks: its snapshot is newer, so no payment slips between.
    const closed = await this.guard.change(tx, {
      ...change,
      to: 'closed',
      orderIds: overdue,
      onlyIfNoPaymentOpen: true,
    });
    const fenced = await this.guard.change(tx, {
      ...change,
      to: 'closing',
      orderIds: without(overdue, closed),
    });
    if (fenced.length > 0) await failpoint('closing.fencing');
    if (fenced.length > 0) tx.afterCommit(() => this.timeouts.nudge('closing'));
    const putBack = await this.#stillOverdue(tx, due, new Set(overdue));
    const changed = closed.length + fenced.length;
    if (changed > 0) await failpoint('close.changed');
    return { changed, lost: due.length - changed - putBack.length, putBack };
  }

  /** Orders whose row somebody is changing at this moment were passed over: they come back. */
  async #stillOverdue(
    tx: Transaction,
    due: readonly DueDeadline[],
    handled: ReadonlySet<string>,
  ): Promise<DueDeadline[]> {
    const rest = due.filter(({ subjectId }) => !handled.has(subjectId));
    if (rest.length === 0) return [];
    const rows = await tx.rows<{ id: string; again: Date }>(
      `SELECT id, now() + interval '50 milliseconds' AS again FROM orders
        WHERE id = ANY ($1::uuid[]) AND status = 'pending_payment' AND closes_at <= now()`,
      [rest.map(({ subjectId }) => subjectId)],
    );
    const again = new Map(rows.map((row) => [row.id, row.again]));
    return rest.flatMap((one) => {
      const dueAt = again.get(one.subjectId);
      return dueAt ? [{ ...one, dueAt }] : [];
    });
  }
}

/** Locks the rows that are overdue and pending; waits for nobody, so it cannot deadlock. */
async function lockOverdue(tx: Transaction, ids: readonly string[]): Promise<readonly string[]> {
  // Nearly always all of them, so only the count travels.
  const wanted = [uuidArray(ids)];
  const [all] = await tx.hot<{ n: number }>(COUNT_OVERDUE, wanted);
  if (all?.n === ids.length) return ids;
  return (await tx.hot<{ id: string }>(LOCK_OVERDUE, wanted)).map(({ id }) => id);
}

const LOCK_OVERDUE = `
  SELECT id FROM orders
   WHERE id = ANY ($1::uuid[]) AND status = 'pending_payment' AND closes_at <= now()
     FOR NO KEY UPDATE SKIP LOCKED`;

const COUNT_OVERDUE = `SELECT count(*)::int AS n FROM (${LOCK_OVERDUE}) AS overdue`;

function without(ids: readonly string[], changed: readonly ChangedOrder[]): readonly string[] {
  if (changed.length === ids.length) return [];
  const gone = new Set(changed.map(({ orderId }) => orderId));
  return ids.filter((id) => !gone.has(id));
}
