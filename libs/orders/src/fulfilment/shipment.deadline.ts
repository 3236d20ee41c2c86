import {
  type BatchResult,
  type Claimant,
  type DeadlineHandler,
  type DueDeadline,
  TimeoutService,
  type Transaction,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { DEADLINES } from '../order/deadline-table';
import { HandlesKind } from '../order/handles-kind';
import { orderLockKey } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { refundAll } from '../money/refund-all';
import { putOff, takeOverdue } from './take-overdue';
import { IS_UNDECIDED, SHIPPABLE_UNTIL } from './undecided-money';

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
    const again = await this.#again(tx, taken);
    const ready = taken.filter(({ subjectId }) => !again.has(subjectId));
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
    const putBack = [...back, ...putOff(taken, again)];
    return {
      changed: canceled.length,
      lost: due.length - canceled.length - putBack.length,
      putBack,
    };
  }

  /**
   * When to look again at orders whose money is undecided, or was until a short time ago: nobody could ship them
   * meanwhile.
   */
  async #again(tx: Transaction, taken: readonly DueDeadline[]): Promise<Map<string, Date>> {
    const rows = await tx.rows<{ id: string; again: Date }>(
      `SELECT id, least(until, now() + interval '${DEADLINES.shipment.putOffBy}') AS again
         FROM (SELECT o.id, CASE WHEN ${IS_UNDECIDED} THEN 'infinity' ELSE ${SHIPPABLE_UNTIL} END AS until
                 FROM orders o WHERE o.id = ANY ($1::uuid[])) AS taken
        WHERE until > now()`,
      [taken.map(({ subjectId }) => subjectId)],
    );
    return new Map(rows.map(({ id, again }) => [id, again]));
  }
}
