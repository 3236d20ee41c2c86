import type { Transaction } from '@app/timeout';

/** What a provider says of a refund that it made. */
interface MadeRefund {
  readonly paymentId: string;
  /** Null where it says none. */
  readonly providerRefundId: string | null;
  /** Minor units. */
  readonly amount: number;
}

/**
 * A refund without our key: the refund that it names, else one that is still owed, by the payment
 * and the amount, when that is unambiguous: somebody made by hand what we could not. One that the
 * provider may have been asked for is told of by its own key: this is another. So is one that is
 * booked as nobody's already, of which the provider tells once more.
 */
export async function findOwedRefund(
  tx: Transaction,
  made: MadeRefund,
): Promise<{ refundId: string; attempt: number } | undefined> {
  const rows = await tx.rows<{ id: string; attempt: number }>(
    `SELECT id, attempt FROM refunds
      WHERE payment_id = $1 AND (provider_refund_id = $3 OR amount = $2
        AND (status IN ('failed', 'needs_attention') OR status = 'requested' AND asked_at IS NULL)
        AND NOT EXISTS (
          SELECT 1 FROM refunds named WHERE named.payment_id = $1 AND named.provider_refund_id = $3)
        AND NOT EXISTS (
          SELECT 1 FROM money_movements m
           WHERE m.payment_id = $1 AND m.kind = 'foreign_refund' AND m.ref = $3))
        FOR NO KEY UPDATE`,
    [made.paymentId, made.amount, made.providerRefundId],
  );
  const [only] = rows;
  return rows.length === 1 && only ? { refundId: only.id, attempt: only.attempt } : undefined;
}
