import type { Transaction } from '@app/timeout';

/**
 * SQL of the payment that a provider means by our `reference` and its own id: the one that has this id, else ours
 * while nobody has told us of an id. What is said of another payment there is none of ours, whatever its reference:
 * it gets a row of its own when its money is told of (`keepStrays`). Both parameters are SQL too.
 */
export const meantPayment = (reference: string, providerPaymentId: string): string => `(
  SELECT p.id FROM payments asked JOIN payments p ON p.order_id = asked.order_id
     AND p.provider = asked.provider AND (p.provider_payment_id = ${providerPaymentId}
       OR p.id = asked.id AND p.provider_payment_id IS NULL)
   WHERE asked.id = ${reference} ORDER BY p.provider_payment_id NULLS LAST LIMIT 1)`;

export interface MeantPayment {
  readonly id: string;
  readonly order_id: string;
  /** Of its money, once there is some; until then of what was asked for, and its balance does not go by that. */
  readonly currency: string;
}

/**
 * The payment that the provider means, and its order's row is ours. Whoever has that may be writing this very payment
 * down, as its money is told of.
 */
export async function lockMeantPayment(
  tx: Transaction,
  paymentId: string,
  providerPaymentId: string,
): Promise<MeantPayment | 'busy' | undefined> {
  const [asked] = await tx.rows<{ order_id: string }>(
    'SELECT order_id FROM payments WHERE id = $1',
    [paymentId],
  );
  if (!asked) return undefined;
  const free = await tx.rows('SELECT 1 FROM orders WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED', [
    asked.order_id,
  ]);
  if (free.length === 0) return 'busy';
  const [meant] = await tx.rows<MeantPayment>(
    `SELECT id, order_id, coalesce(captured_currency, currency) AS currency
       FROM payments WHERE id = ${meantPayment('$1', '$2')}`,
    [paymentId, providerPaymentId],
  );
  return meant;
}
