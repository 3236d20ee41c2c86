import {
  type BatchResult,
  type Claimant,
  type DeadlineHandler,
  type DueDeadline,
  type Transaction,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { isInDispute } from '../money/balance';
import { DEADLINES } from '../order/deadline-table';
import { HandlesKind } from '../order/handles-kind';
import { orderLockKey } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { putOff, takeOverdue } from './take-overdue';

/** Shipped orders whose receipt nobody denied in time are completed. */
@Injectable()
@HandlesKind('receipt')
export class ReceiptDeadline implements DeadlineHandler {
  readonly maxBatch = 500;
  readonly lockKey = orderLockKey;

  constructor(private readonly guard: OrderGuard) {}

  async handle(due: readonly DueDeadline[], tx: Transaction, by: Claimant): Promise<BatchResult> {
    const { taken, back } = await takeOverdue(tx, 'shipped', due);
    const paused = await this.#paused(tx, taken);
    const ready = taken.filter(({ subjectId }) => !paused.has(subjectId));
    const completed = await this.guard.change(tx, {
      from: 'shipped',
      to: 'completed',
      orderIds: ready.map(({ subjectId }) => subjectId),
      by,
      reason: 'receipt_timeout',
      onlyIfOverdue: true,
    });
    const putBack = [...back, ...putOff(taken, paused)];
    return {
      changed: completed.length,
      lost: due.length - completed.length - putBack.length,
      putBack,
    };
  }

  /** Money that is unsettled pauses the completion: these are looked at again later. */
  async #paused(tx: Transaction, taken: readonly DueDeadline[]): Promise<Map<string, Date>> {
    const rows = await tx.rows<{ order_id: string; again: Date }>(
      `SELECT DISTINCT p.order_id, now() + interval '${DEADLINES.receipt.putOffBy}' AS again
         FROM payments p
        WHERE p.order_id = ANY ($1::uuid[]) AND (p.hold_reason IS NOT NULL OR EXISTS (
                SELECT 1 FROM refunds r
                 WHERE r.payment_id = p.id AND r.status NOT IN ('succeeded', 'canceled') OFFSET 0)
              OR ${isInDispute('p.id')})`,
      [taken.map(({ subjectId }) => subjectId)],
    );
    return new Map(rows.map((row) => [row.order_id, row.again]));
  }
}
