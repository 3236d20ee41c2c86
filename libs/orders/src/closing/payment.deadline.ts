import {
  type BatchResult,
  type Claimant,
  type DeadlineHandler,
  type DueDeadline,
  failpoint,
  TimeoutService,
  type Transaction,
  Uuids,
  type WholeBatches,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { HandlesKind } from '../order/handles-kind';
import { ORDER_LOCK_PREFIX, orderLockKey } from '../order/order';
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
  readonly whole: WholeBatches = {
    lockPrefix: ORDER_LOCK_PREFIX,
    handle: async (orderIds, tx, by) => {
      const [overdue] = await tx.hot<{ n: number }>(COUNT_OVERDUE, [orderIds.array]);
      if (overdue?.n !== orderIds.count) return undefined;
      const changed = await this.#close(tx, orderIds, by);
      return { changed, lost: orderIds.count - changed };
    },
  };

  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
  ) {}

  async handle(due: readonly DueDeadline[], tx: Transaction, by: Claimant): Promise<BatchResult> {
    const wanted = Uuids.of(due.map(({ subjectId }) => subjectId));
    const rows = await tx.hot<{ id: string }>(LOCK_OVERDUE, [wanted.array]);
    const overdue = rows.map(({ id }) => id);
    const changed = await this.#close(tx, Uuids.of(overdue), by);
    const putBack = await this.#stillOverdue(tx, due, new Set(overdue));
    return { changed, lost: due.length - changed - putBack.length, putBack };
  }

  /** Closes orders whose rows are locked and overdue, or fences them; says how many. */
  async #close(tx: Transaction, orderIds: Uuids, by: Claimant): Promise<number> {
    const change = {
      orderIds,
      from: 'pending_payment',
      by,
      onlyIfOverdue: true,
      closeReason: 'payment_timeout',
    } as const;
    // A statement after the locks: its snapshot is newer, so no payment slips between.
    const closed = await this.guard.changeMany(tx, {
      ...change,
      to: 'closed',
      onlyIfNoPaymentOpen: true,
    });
    // Those that are closed are pending no more: nobody has to find out which they are.
    const fenced =
      closed < orderIds.count ? await this.guard.changeMany(tx, { ...change, to: 'closing' }) : 0;
    if (fenced > 0) await failpoint('closing.fencing');
    if (fenced > 0) tx.afterCommit(() => this.timeouts.nudge('closing'));
    const changed = closed + fenced;
    if (changed > 0) await failpoint('close.changed');
    return changed;
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
const LOCK_OVERDUE = `
  SELECT id FROM orders
   WHERE id = ANY ($1::uuid[]) AND status = 'pending_payment' AND closes_at <= now()
     FOR NO KEY UPDATE SKIP LOCKED`;

/** The same for many that are overdue all, nearly always: only the count travels. */
const COUNT_OVERDUE = `SELECT count(*)::int AS n FROM (${LOCK_OVERDUE}) AS overdue`;
