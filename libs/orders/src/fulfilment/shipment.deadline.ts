import {
  type BatchResult,
  type Claimant,
  type DeadlineHandler,
  type DueDeadline,
  TimeoutService,
  type Transaction,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { isInDispute } from '../money/balance';
import { DEADLINES } from '../order/deadline-table';
import { HandlesKind } from '../order/handles-kind';
import { orderLockKey } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { refundAll } from '../money/refund-all';
import { putOff, takeOverdue } from './take-overdue';

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
    const { taken, back } = await takeOverdue(tx, 'paid', due);
    const undecided = await this.#undecided(tx, taken);
    const ready = taken.filter(({ subjectId }) => !undecided.has(subjectId));
    const canceled = await this.guard.change(tx, {
      from: 'paid',
      to: 'canceled',
      orderIds: ready.map(({ subjectId }) => subjectId),
      by,
      closeReason: 'shipment_timeout',
      onlyIfOverdue: true,
    });
    await refundAll(
      tx,
      this.timeouts,
      canceled.map(({ orderId }) => orderId),
      'shipment_timeout',
    );
    const putBack = [...back, ...putOff(taken, undecided)];
    return {
      changed: canceled.length,
      lost: due.length - canceled.length - putBack.length,
      putBack,
    };
  }

  /**
   * Money that is on hold or disputed cannot be sent back, and an order must not be canceled without
   * its money: these are looked at again later. Hold and dispute have alerts of their own.
   */
  async #undecided(tx: Transaction, taken: readonly DueDeadline[]): Promise<Map<string, Date>> {
    const rows = await tx.rows<{ order_id: string; again: Date }>(
      `SELECT DISTINCT p.order_id, now() + interval '${DEADLINES.shipment.putOffBy}' AS again
         FROM payments p
        WHERE p.order_id = ANY ($1::uuid[]) AND (p.hold_reason IS NOT NULL OR ${isInDispute('p.id')})`,
      [taken.map(({ subjectId }) => subjectId)],
    );
    return new Map(rows.map((row) => [row.order_id, row.again]));
  }
}
