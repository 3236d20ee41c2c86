import {
  type BatchResult,
  type Claimant,
  type DeadlineHandler,
  type DueDeadline,
  TimeoutService,
  type Transaction,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { HandlesKind } from '../order/handles-kind';
import { orderLockKey } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { requestRefunds } from '../money/request-refunds';

/** Paid orders that were not shipped in time are canceled, their stock and their money go back. */
@Injectable()
@HandlesKind('shipment')
export class ShipmentDeadline implements DeadlineHandler {
  readonly maxBatch = 500;
  readonly lockKey = orderLockKey;

  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
  ) {}

  async handle(due: readonly DueDeadline[], tx: Transaction, by: Claimant): Promise<BatchResult> {
    const canceled = await this.guard.change(tx, {
      from: 'paid',
      to: 'canceled',
      orderIds: due.map(({ subjectId }) => subjectId),
      by,
      closeReason: 'shipment_timeout',
      onlyIfOverdue: true,
    });
    await this.#refundAll(
      tx,
      canceled.map(({ orderId }) => orderId),
    );
    return { changed: canceled.length, lost: due.length - canceled.length };
  }

  /** All money of these orders that is not going back already and waits for nobody. */
  async #refundAll(tx: Transaction, orderIds: readonly string[]): Promise<void> {
    const rows = await tx.rows<{ id: string; captured_amount: string; captured_currency: string }>(
      `SELECT id, captured_amount, captured_currency FROM payments p
        WHERE order_id = ANY ($1::uuid[]) AND status = 'succeeded' AND hold_reason IS NULL
          AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.payment_id = p.id)`,
      [orderIds],
    );
    await requestRefunds(
      tx,
      this.timeouts,
      rows.map((row) => ({
        paymentId: row.id,
        reason: 'shipment_timeout',
        amount: Number(row.captured_amount),
        currency: row.captured_currency,
      })),
    );
  }
}
