import { uuidv7 } from '../order/uuid';
import type { TargetPayment } from './close-target';
import type { JudgedTargetCapture } from './target-payments';
import type { TargetSql } from './target-sql';

type Refundable = Pick<JudgedTargetCapture, 'providerPaymentId' | 'money' | 'reason'> & {
  readonly payment: Pick<TargetPayment, 'provider' | 'paymentId' | 'orderId'>;
};

/** Writes refunds of all that these captures brought, if anything, once for each; answers with those written now. */
export async function requestTargetRefunds(
  tx: TargetSql,
  schema: string,
  kind: string,
  captures: readonly Refundable[],
): Promise<string[]> {
  if (captures.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    `INSERT INTO "${schema}".target_refunds
         (id, provider, payment_id, provider_payment_id, kind, order_id, amount, currency, reason)
       SELECT id, provider, payment_id, place, $1, order_id, amount, currency, reason
         FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[],
                     $9::text[]) AS r (id, provider, payment_id, place, order_id, amount, currency, reason)
        WHERE amount > 0
       ON CONFLICT DO NOTHING RETURNING id`,
    [
      kind,
      captures.map(() => uuidv7()),
      captures.map(({ payment }) => payment.provider),
      captures.map(({ payment }) => payment.paymentId),
      captures.map(({ providerPaymentId }) => providerPaymentId),
      captures.map(({ payment }) => payment.orderId),
      captures.map(({ money }) => money.amount),
      captures.map(({ money }) => money.currency),
      captures.map(({ reason }) => reason),
    ],
  );
  return rows.map(({ id }) => id);
}
