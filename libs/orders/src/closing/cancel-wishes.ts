import {
  isContention,
  isInfrastructureError,
  StoodStillError,
  type Transaction,
} from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { type Settings, SETTINGS } from '../config';
import type { CaptureOutcome } from '../money/record-captures';
import { LastcallError } from '../order/errors';
import { HeldInHostError } from '../order/heard-of-host';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { CancelPaid } from './cancel-paid';

interface WishRow {
  readonly id: string;
  readonly actor: string;
}

/**
 * Customers who canceled orders of which it turns out only now that they were paid, where a paid order may be
 * canceled: it is, in the transaction that pays it, however late its provider has said so.
 */
@Injectable()
export class CancelWishes {
  constructor(
    private readonly canceling: CancelPaid,
    @Inject(SETTINGS) private readonly config: Settings,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /**
   * `outcomes` of captures for these payments, in their order. What may not be canceled yet stays paid, and so
   * does what the host will not have canceled: the money is recorded in any case.
   */
  async carryOut(
    tx: Transaction,
    paymentIds: readonly string[],
    outcomes: readonly CaptureOutcome[],
  ): Promise<void> {
    if (this.config.CANCEL_PAID !== 'until_shipped') return;
    const paid = paymentIds.filter((_, nth) => outcomes[nth] === 'pay');
    if (paid.length === 0) return;
    const wishes = await tx.hot<WishRow>(WISHES, [paid]);
    for (const { id, actor } of wishes) {
      const cancel = (part: Transaction) =>
        this.canceling.cancel({ id, status: 'paid' }, part, { by: 'customer', actor });
      try {
        await tx.aside(cancel);
      } catch (error) {
        if (isForNow(error)) throw error;
        if (error instanceof LastcallError && error.code === 'order_not_cancelable') continue;
        tx.afterCommit(() => this.telemetry.failed('cancel a paid order', error));
      }
    }
  }
}

/** All of it is tried again, later or with less beside it. */
const isForNow = (error: unknown): boolean =>
  error instanceof HeldInHostError ||
  error instanceof StoodStillError ||
  isContention(error) ||
  isInfrastructureError(error);

/** Their customer's fence was what came right before the payment. */
const WISHES = `
  SELECT DISTINCT o.id, e.actor
    FROM unnest($1::uuid[]) AS paid (id),
         LATERAL (SELECT order_id FROM payments WHERE id = paid.id OFFSET 0) AS p,
         LATERAL (SELECT id, version, status FROM orders WHERE id = p.order_id OFFSET 0) AS o,
         LATERAL (SELECT actor FROM order_events
                   WHERE order_id = o.id AND version = o.version - 1 AND to_status = 'closing'
                     AND by = 'customer' OFFSET 0) AS e
   WHERE o.status = 'paid'`;
