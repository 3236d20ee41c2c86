import type { TimeoutService, Transaction } from '@app/timeout';
import type { RefundReason } from '../order/order';
import { requestRefunds } from './request-refunds';

/** No attempt of the refund `r` is under way. */
const IS_AT_NO_PROVIDER = "(r.status = 'failed' OR r.status = 'requested' AND r.asked_at IS NULL)";

/**
 * Cancels refunds that are owed no longer, one of a payment at a time: their money has gone back at
 * the provider, or was lost in a dispute. What is owed of it all the same is requested anew. Those
 * that the provider may have been asked for are seen to their end first.
 */
export async function cancelUnowed(
  tx: Transaction,
  timeouts: TimeoutService,
  refundIds: readonly string[],
): Promise<void> {
  const canceled = await tx.rows<{
    payment_id: string;
    reason: RefundReason;
    amount: string;
    currency: string;
  }>(
    // The balance of each payment by itself: joined to it, it would be reckoned for all there are.
    // Asked twice whether it was sent: whoever asks the provider for one may have its row meanwhile.
    `WITH canceled AS (
       UPDATE refunds r SET status = 'canceled', updated_at = now(), finished_at = now()
        WHERE id IN (
          SELECT DISTINCT ON (r.payment_id) r.id
            FROM refunds r, LATERAL (
              SELECT * FROM payment_balances
               WHERE payment_id = r.payment_id AND currency = r.currency OFFSET 0) AS b
           WHERE r.id = ANY ($1::uuid[]) AND ${IS_AT_NO_PROVIDER}
             AND b.in_dispute = 0 AND b.captured < b.refunded + b.refunding + b.disputed
           ORDER BY r.payment_id, r.id DESC)
          AND ${IS_AT_NO_PROVIDER}
       RETURNING id, payment_id, reason, amount, currency
     ), moved AS (
       INSERT INTO money_movements
              (order_id, payment_id, kind, ref, amount, currency, source, reason)
       SELECT p.order_id, p.id, 'refund_canceled', c.id, c.amount, c.currency, 'system', 'not_owed'
         FROM canceled c, LATERAL (
           SELECT id, order_id FROM payments WHERE id = c.payment_id OFFSET 0) AS p
     )
     SELECT payment_id, reason, amount, currency FROM canceled`,
    [refundIds],
  );
  await requestRefunds(
    tx,
    timeouts,
    canceled.map(({ payment_id: paymentId, amount, ...rest }) => ({
      ...rest,
      paymentId,
      amount: Number(amount),
    })),
  );
}
