import type { OrderStatus } from '../order/order.lifecycle';
import type { PaymentStatus, RefundReason } from '../order/order';
import type { CapturedMoney } from '../providers/payment-provider';

/** What is known of a payment and its order when the provider says that it took money. */
export interface CaptureFacts {
  readonly paymentStatus: PaymentStatus;
  /** Null while the answer to our create call has not reached us. */
  readonly providerPaymentId: string | null;
  readonly amount: number;
  readonly currency: string;
  /** What was recorded of this payment before, if anything was. */
  readonly captured: { readonly amount: number; readonly currency: string } | null;
  readonly orderStatus: OrderStatus;
  /** Of a closed order; of others nobody asks. */
  readonly closesAt: Date | null;
  readonly closedByTimeout: boolean;
  readonly latePayment: 'refund' | 'revive' | 'hold';
}

/** Money the provider took, and for which of its payments. */
export interface JudgedMoney {
  readonly providerPaymentId: string;
  readonly money: CapturedMoney;
}

/**
 * Why money waits for an operator. `reference_mismatch`: taken for another payment of the provider
 * than the one that we opened. `capture_changed`: another amount than was recorded before.
 */
export type HoldReason =
  | 'amount_mismatch'
  | 'currency_mismatch'
  | 'late_payment'
  | 'reference_mismatch'
  | 'capture_changed';

/** What to do with captured money. */
export type CaptureJudgement =
  | { readonly verdict: 'known' }
  | { readonly verdict: 'pay'; readonly from: 'pending_payment' | 'closing' }
  | { readonly verdict: 'revive' }
  | { readonly verdict: 'refund'; readonly reason: RefundReason }
  | { readonly verdict: 'hold'; readonly reason: HoldReason };

/** Decides what becomes of captured money: pure, and the only place where that is decided. */
export function judgeCapture(
  facts: CaptureFacts,
  { providerPaymentId, money }: JudgedMoney,
): CaptureJudgement {
  if (facts.providerPaymentId !== null && facts.providerPaymentId !== providerPaymentId) {
    return { verdict: 'hold', reason: 'reference_mismatch' };
  }
  if (facts.paymentStatus === 'succeeded') {
    const isSame =
      facts.captured?.amount === money.amount && facts.captured.currency === money.currency;
    return isSame ? { verdict: 'known' } : { verdict: 'hold', reason: 'capture_changed' };
  }
  if (money.currency !== facts.currency) return { verdict: 'hold', reason: 'currency_mismatch' };
  if (money.amount !== facts.amount) return { verdict: 'hold', reason: 'amount_mismatch' };
  const status = facts.orderStatus;
  switch (status) {
    case 'pending_payment':
    case 'closing':
      return { verdict: 'pay', from: status };
    case 'paid':
    case 'shipped':
    case 'completed':
    case 'canceled':
      return { verdict: 'refund', reason: 'duplicate_payment' };
    case 'closed':
      return judgeLate(facts, money);
    default: {
      const never: never = status;
      throw new Error(`Unknown status ${String(never)}`);
    }
  }
}

function judgeLate(facts: CaptureFacts, money: CapturedMoney): CaptureJudgement {
  if (facts.latePayment === 'hold') return { verdict: 'hold', reason: 'late_payment' };
  // In time by the provider's clock: when the money moved counts, not when the notice came.
  const inTime = facts.closesAt !== null && money.paidAt.getTime() <= facts.closesAt.getTime();
  if (facts.latePayment === 'revive' && facts.closedByTimeout && inTime)
    return { verdict: 'revive' };
  return { verdict: 'refund', reason: 'late_payment' };
}
