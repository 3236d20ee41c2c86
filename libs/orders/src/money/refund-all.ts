import type { TimeoutService, Transaction } from '@app/timeout';
import type { RefundReason } from '../order/order';
import { isForTheShop } from './kept-payments';
import type { MovementSource } from './movements';
import { requestRefunds } from './request-refunds';

/**
 * Requests back all money of canceled orders that is not going back already, but for what an operator has decided
 * to keep. The caller has locked the orders' rows, in the transaction that canceled them.
 */
export async function refundAll(
  tx: Transaction,
  timeouts: TimeoutService,
  orderIds: readonly string[],
  reason: RefundReason,
  source: MovementSource = 'system',
): Promise<string[]> {
  const rows = await tx.rows<{ id: string; captured_amount: string; captured_currency: string }>(
    `SELECT id, captured_amount, captured_currency FROM payments
      WHERE order_id = ANY ($1::uuid[]) AND status = 'succeeded'
        AND NOT ${isForTheShop('payments.id')}`,
    [orderIds],
  );
  return requestRefunds(
    tx,
    timeouts,
    rows.map(({ id: paymentId, captured_amount: amount, captured_currency: currency }) => ({
      ...{ paymentId, reason, amount: Number(amount), currency },
    })),
    source,
  );
}
