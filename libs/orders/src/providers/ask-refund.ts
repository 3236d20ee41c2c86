import type { RefundStatus } from '../order/order';
import type { RefundAnswer } from './payment-provider';
import type { PaymentProviders } from './payment-providers';
import { refundKey } from './refund-key';

/** Providers are asked about so many refunds at once. */
export const REFUNDS_AT_ONCE = 10;

/** An attempt at a refund, as rows have it. */
export interface RefundAttempt {
  readonly id: string;
  readonly attempt: number;
  readonly status: RefundStatus;
  readonly amount: string;
  readonly currency: string;
  readonly provider_refund_id: string | null;
  readonly payment_id: string;
  readonly provider: string;
  readonly provider_payment_id: string;
}

/** Asks after one that the payment's own provider has taken on, and sends any other, with the key of its attempt. */
export function askRefund(providers: PaymentProviders, row: RefundAttempt): Promise<RefundAnswer> {
  const provider = providers.of(row.provider);
  if (row.status === 'pending' && row.provider_refund_id) {
    return provider.findRefund(row.provider_refund_id);
  }
  return provider.refund({
    paymentId: row.payment_id,
    providerPaymentId: row.provider_payment_id,
    amount: Number(row.amount),
    currency: row.currency,
    idempotencyKey: refundKey(row.id, row.attempt),
  });
}
