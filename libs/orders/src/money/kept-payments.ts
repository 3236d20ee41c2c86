/**
 * SQL that is true of a payment whose money is for the shop to keep beside what orders cost, as an operator has
 * decided; `paymentId` is SQL too. OFFSET 0: what was done to that payment is read, and never all that was done.
 */
export const isForTheShop = (paymentId: string): string => `EXISTS (
  SELECT FROM operator_actions a
   WHERE a.subject_id = ${paymentId} AND a.action = 'payment.keep' OFFSET 0)`;

/**
 * SQL that is true of a payment whose money pays for no order: the shop keeps it, or it was found to be nobody's of
 * ours and sent back, as what was taken twice.
 */
export const paysForNothing = (
  paymentId: string,
): string => `(${isForTheShop(paymentId)} OR EXISTS (
  SELECT FROM refunds back
   WHERE back.payment_id = ${paymentId} AND back.reason <> 'operator' OFFSET 0))`;
