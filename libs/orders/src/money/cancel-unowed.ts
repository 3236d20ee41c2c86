import type { TimeoutService, Transaction } from '@app/timeout';
import type { RefundReason } from '../order/order';
import { uuidv7 } from '../order/uuid';
import { OWES_TOO_MUCH } from './balance';
import { isBookedBeside } from './movements';
import { type RefundOrder, requestRefunds } from './request-refunds';

/** No attempt of the refund `r` is under way. */
const IS_AT_NO_PROVIDER = "(r.status = 'failed' OR r.status = 'requested' AND r.asked_at IS NULL)";

/**
 * The newest refund of each payment that owes more than it holds, of those in $1. The balance of each
 * payment by itself: joined to it, it would be reckoned for all there are.
 */
const UNOWED = `SELECT DISTINCT ON (r.payment_id) r.id
            FROM refunds r, LATERAL (
              SELECT * FROM payment_balances
               WHERE payment_id = r.payment_id AND currency = r.currency OFFSET 0) AS b
           WHERE r.id = ANY ($1::uuid[]) AND ${IS_AT_NO_PROVIDER}
             AND ${OWES_TOO_MUCH}
           ORDER BY r.payment_id, r.id DESC`;

/**
 * Cancels refunds that are owed no longer, one of a payment at a time: their money has gone back at
 * the provider, or was lost in a dispute. What is owed of it all the same is requested anew. Those
 * that the provider may have been asked for are seen to their end first. Of an order that somebody is
 * changing none is: what comes back to it at that moment would go to nobody, as neither sees the other.
 */
export async function cancelUnowed(
  tx: Transaction,
  timeouts: TimeoutService,
  refundIds: readonly string[],
): Promise<void> {
  const unowed = await lockUnowed(tx, refundIds);
  if (unowed.length === 0) return;
  const canceled = await tx.rows<{
    payment_id: string;
    reason: RefundReason;
    amount: string;
    currency: string;
  }>(
    // Asked twice whether it was sent: whoever asks the provider for one may have its row meanwhile.
    `WITH canceled AS (
       UPDATE refunds r SET status = 'canceled', updated_at = now(), finished_at = now()
        WHERE id IN (${UNOWED})
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
    [unowed],
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

/**
 * Writes down, of money that is to go back and of which nothing was left when it was told of, that it is nobody's of
 * ours: by a refund that is owed no longer from the beginning. Where it comes back to us it goes out again by that,
 * and is not taken for what its order was paid with. The caller has locked the orders' rows.
 */
export async function noteUnowed(tx: Transaction, refunds: readonly RefundOrder[]): Promise<void> {
  await tx.rows(
    `WITH noted AS (
       INSERT INTO refunds (id, payment_id, reason, amount, currency, status, finished_at)
       SELECT r.id, r.payment_id, r.reason, r.amount, r.currency, 'canceled', now()
         FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::text[])
              AS r (id, payment_id, reason, amount, currency)
        WHERE NOT EXISTS (
          SELECT FROM refunds o
           WHERE o.payment_id = r.payment_id AND o.reason <> 'operator' OFFSET 0)
       RETURNING id, payment_id, reason, amount, currency
     )
     INSERT INTO money_movements
            (order_id, payment_id, kind, ref, amount, currency, source, reason)
     SELECT p.order_id, p.id, m.kind, n.id, n.amount, n.currency, 'system', coalesce(m.reason, n.reason)
       FROM noted n, LATERAL (
              SELECT id, order_id FROM payments WHERE id = n.payment_id OFFSET 0) AS p,
            (VALUES ('refund_requested', NULL), ('refund_canceled', 'not_owed')) AS m (kind, reason)`,
    [
      refunds.map(() => uuidv7()),
      refunds.map(({ paymentId }) => paymentId),
      refunds.map(({ reason }) => reason),
      refunds.map(({ amount }) => amount),
      refunds.map(({ currency }) => currency),
    ],
  );
}

/**
 * Another attempt at a refund has failed that was booked beside it. Where the refund was canceled as that one stood
 * (settle-refunds.ts), nothing has gone back: it is requested anew. The caller has locked the order's row and the refund's.
 */
export async function oweAnew(
  tx: Transaction,
  timeouts: TimeoutService,
  { paymentId, refundId }: { readonly paymentId: string; readonly refundId: string },
): Promise<void> {
  const [owed] = await tx.rows<{ reason: RefundReason; amount: string; currency: string }>(
    `SELECT r.reason, r.amount, r.currency FROM refunds r
      WHERE r.id = $1 AND r.status = 'canceled' AND EXISTS (
        SELECT FROM money_movements m
         WHERE m.payment_id = $2 AND m.kind = 'refund_canceled' AND m.ref = $1::text
           AND m.source IN ('webhook', 'answer', 'reconcile'))`,
    [refundId, paymentId],
  );
  if (!owed) return;
  const amount = Number(owed.amount);
  if (await isBookedBeside(tx, { paymentId, refundId, amount })) return;
  await requestRefunds(tx, timeouts, [{ ...owed, paymentId, amount }]);
}

/** Of orders that nobody is changing, whose rows are ours from now on. What they owe, a later statement has to see. */
async function lockUnowed(tx: Transaction, refundIds: readonly string[]): Promise<string[]> {
  const found = await tx.rows<{ id: string; order_id: string }>(
    `SELECT id, (SELECT order_id FROM payments WHERE id = payment_id) AS order_id
       FROM refunds WHERE id IN (${UNOWED})`,
    [refundIds],
  );
  if (found.length === 0) return [];
  const locked = await tx.rows<{ id: string }>(
    'SELECT id FROM orders WHERE id = ANY ($1::uuid[]) FOR NO KEY UPDATE SKIP LOCKED',
    [found.map(({ order_id: orderId }) => orderId)],
  );
  const ours = new Set(locked.map(({ id }) => id));
  return found.flatMap(({ id, order_id: orderId }) => (ours.has(orderId) ? [id] : []));
}
