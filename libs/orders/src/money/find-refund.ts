import type { Transaction } from '@app/timeout';
import { parseRefundKey } from '../providers/refund-key';
import { meantPayment } from './meant-payment';

/** What a provider says of a refund that it made. */
interface MadeRefund {
  readonly paymentId: string;
  readonly providerPaymentId: string;
  /** Null where it says none. */
  readonly providerRefundId: string | null;
  /** Minor units. */
  readonly amount: number;
  readonly hasSucceeded: boolean;
}

/** An attempt at a refund of ours, its row locked. */
export interface FoundRefund {
  readonly refundId: string;
  readonly attempt: number;
}

/** The refund of which a provider speaks by our idempotency key; `busy` where somebody holds its row. */
export async function findRefundByKey(
  tx: Transaction,
  idempotencyKey: string,
): Promise<FoundRefund | 'busy' | undefined> {
  const target = parseRefundKey(idempotencyKey);
  if (!target) return undefined;
  const found = await lockOldest(tx, 'id = $1', [target.refundId]);
  return typeof found === 'object' ? target : found;
}

/**
 * A refund without our key: the refund that it names, else the oldest that is still owed of the payment and
 * the amount: somebody made by hand what we could not, and of equal ones any is as good. One that the
 * provider may have been asked for is told of by its own key: this is another. So is one that is
 * booked as nobody's already, of which the provider tells once more, and one that has failed, which pays
 * nothing that is owed. One without an id, which could end the next one as it is told of again, is found only
 * where one alone is owed. `busy` where somebody holds its row.
 */
export function findOwedRefund(
  tx: Transaction,
  { paymentId, providerPaymentId, amount, providerRefundId, hasSucceeded }: MadeRefund,
): Promise<FoundRefund | 'busy' | undefined> {
  return lockOldest(
    tx,
    `payment_id = ${meantPayment('$1', '$4')} AND (provider_refund_id = $3 OR $5 AND amount = $2
        AND (status IN ('failed', 'needs_attention') OR status = 'requested' AND asked_at IS NULL)
        AND NOT EXISTS (
          SELECT 1 FROM refunds named
           WHERE named.payment_id = refunds.payment_id AND named.provider_refund_id = $3)
        AND NOT EXISTS (
          SELECT 1 FROM money_movements m
           WHERE m.payment_id = refunds.payment_id AND m.kind = 'foreign_refund' AND m.ref = $3))`,
    [paymentId, amount, providerRefundId, providerPaymentId, hasSucceeded],
    providerRefundId === null,
  );
}

/**
 * True of a refund of the provider's beside the one by which ours is over: by another attempt, which was taken
 * for failed, or of money that somebody has sent back by hand. It has gone back twice, and is booked as a refund
 * made there; whatever is told of it from then on is about that. One that is recorded as failed is an old
 * story. The caller has locked our refund's row.
 */
export async function isMadeBeside(
  tx: Transaction,
  { refundId, attempt }: FoundRefund,
  { providerRefundId, hasSucceeded }: Pick<MadeRefund, 'providerRefundId' | 'hasSucceeded'>,
): Promise<boolean> {
  if (!providerRefundId) return false;
  const [row] = await tx.rows<{ is_beside: boolean }>(
    `SELECT CASE
         WHEN r.provider_refund_id = $3 THEN false
         WHEN 'foreign_refund' = ANY (told.kinds) THEN true
         WHEN NOT $4 OR told.kinds && '{refund_failed,refund_reversed}' THEN false
         WHEN r.status = 'succeeded' THEN r.provider_refund_id IS NOT NULL OR r.attempt <> $2
         ELSE r.status = 'canceled' END AS is_beside
       FROM refunds r, LATERAL (
         SELECT array(SELECT kind FROM money_movements
                       WHERE payment_id = r.payment_id AND ref = $3) AS kinds) AS told
      WHERE r.id = $1`,
    [refundId, attempt, providerRefundId, hasSucceeded],
  );
  return row?.is_beside ?? false;
}

/** The oldest of those `where`. One that is another by the time it is locked is looked for again, as a busy one. */
async function lockOldest(
  tx: Transaction,
  where: string,
  params: readonly unknown[],
  mustBeAlone = false,
): Promise<FoundRefund | 'busy' | undefined> {
  const sql = `SELECT id, attempt FROM refunds WHERE ${where}`;
  const [oldest, next] = await tx.rows<{ id: string }>(
    `${sql} ORDER BY created_at, id LIMIT 2`,
    params,
  );
  if (!oldest || (next && mustBeAlone)) return undefined;
  // Never the next one instead: who holds this one may be told of the same refund.
  const [mine] = await tx.rows<{ id: string; attempt: number }>(
    `${sql} AND id = $${params.length + 1} FOR NO KEY UPDATE SKIP LOCKED`,
    [...params, oldest.id],
  );
  return mine ? { refundId: mine.id, attempt: mine.attempt } : 'busy';
}
