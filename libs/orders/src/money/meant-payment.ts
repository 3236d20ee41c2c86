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
