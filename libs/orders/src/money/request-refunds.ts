import type { TimeoutService, Transaction } from '@app/timeout';
import { uuidv7 } from '../order/uuid';
import type { RefundReason } from '../order/order';
import type { MovementSource } from './movements';

export interface RefundOrder {
  readonly paymentId: string;
  readonly reason: RefundReason;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
}

/**
 * Writes refunds as rows in the transaction that decided them, due at once; the call to the
 * provider follows the commit (refund.deadline.ts). One for each payment and reason, but for an
 * operator's and for money that came back in parts: asking again changes nothing. Never more than the payment still holds, whatever was
 * asked for: the caller has locked the order's row, and has recorded the capture. Answers with the ids of those that were written.
 */
export async function requestRefunds(
  tx: Transaction,
  timeouts: TimeoutService,
  refunds: readonly RefundOrder[],
  source: MovementSource = 'system',
): Promise<string[]> {
  if (refunds.length === 0) return [];
  const written = await tx.rows<{ id: string; due_at: Date }>(
    `WITH written AS (
       INSERT INTO refunds (id, payment_id, reason, amount, currency)
       SELECT r.id, r.payment_id, r.reason, least(r.amount, b.rest), r.currency
         FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::text[])
              AS r (id, payment_id, reason, amount, currency),
              LATERAL (SELECT captured - refunded - refunding - disputed AS rest
                         FROM payment_balances b
                        WHERE b.payment_id = r.payment_id AND b.currency = r.currency
                       OFFSET 0) AS b
        WHERE b.rest > 0
       ON CONFLICT (payment_id, reason)
         WHERE reason NOT IN ('operator', 'returned_money') AND status <> 'canceled' DO NOTHING
       RETURNING id, payment_id, reason, amount, currency
     ), owed AS (
       INSERT INTO money_movements
              (order_id, payment_id, kind, ref, amount, currency, source, reason)
       SELECT p.order_id, p.id, 'refund_requested', w.id, w.amount, w.currency, $6, w.reason
         FROM written w, LATERAL (
           SELECT id, order_id FROM payments WHERE id = w.payment_id OFFSET 0) AS p
     )
     INSERT INTO deadlines (kind, due_at, subject_id)
     SELECT 'refund', now(), id FROM written RETURNING subject_id AS id, due_at`,
    [
      refunds.map(() => uuidv7()),
      refunds.map((refund) => refund.paymentId),
      refunds.map((refund) => refund.reason),
      refunds.map((refund) => refund.amount),
      refunds.map((refund) => refund.currency),
      source,
    ],
  );
  timeouts.armed(
    tx,
    written.map(({ id, due_at }) => ({ kind: 'refund', subjectId: id, dueAt: due_at, version: 1 })),
  );
  return written.map(({ id }) => id);
}
