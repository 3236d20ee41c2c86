import type { PaymentRef, ProviderAnswer } from '../providers/payment-provider';
import { alertOfEnd } from './end-at-provider';

const opened: PaymentRef = {
  paymentId: 'ours',
  providerPaymentId: 'theirs',
  amount: 500,
  currency: 'EUR',
  expiresAt: new Date(0),
  request: null,
};
const unanswered: PaymentRef = { ...opened, providerPaymentId: null };
const money = { amount: 500, currency: 'EUR', paidAt: new Date(0) };
const gone: ProviderAnswer = { state: 'NOT_FOUND' };

describe('the end of a payment', () => {
  it('is told where the provider does not know one any more that it had opened', () => {
    expect(alertOfEnd(opened, true, gone)).toBe('payment_vanished');
  });

  it('is not told where it may never have been opened, or may be known yet', () => {
    expect(alertOfEnd(unanswered, true, gone)).toBeUndefined();
    expect(alertOfEnd(opened, false, gone)).toBeUndefined();
  });

  it('is told where its money has gone back already, whenever that is', () => {
    const refunded: ProviderAnswer = { state: 'REFUNDED', providerPaymentId: 'theirs', money };
    expect(alertOfEnd(opened, false, refunded)).toBe('refunded_outside');
  });

  it.each<ProviderAnswer>([
    { state: 'PAID', providerPaymentId: 'theirs', money },
    { state: 'CLOSED_UNPAID', providerPaymentId: 'theirs' },
    { state: 'NEVER_MADE', why: 'amount too small' },
    { state: 'UNKNOWN', why: 'status 500' },
  ])('is as it should be with $state', (answer) => {
    expect(alertOfEnd(opened, true, answer)).toBeUndefined();
  });
});
