import { type CaptureFacts, type CaptureJudgement, judgeCapture } from './capture.judgement';
import { ORDER_STATUSES } from '../order/order.lifecycle';

const CLOSES_AT = new Date('2026-01-01T00:11:00Z');
const IN_TIME = CLOSES_AT;
const TOO_LATE = new Date(CLOSES_AT.getTime() + 1);

const facts = (change: Partial<CaptureFacts> = {}): CaptureFacts => ({
  paymentStatus: 'open',
  providerPaymentId: 'pay-1',
  amount: 500,
  currency: 'EUR',
  captured: null,
  orderStatus: 'pending_payment',
  closesAt: CLOSES_AT,
  closedByTimeout: false,
  latePayment: 'refund',
  ...change,
});

const judge = (
  change: Partial<CaptureFacts>,
  money: { amount?: number; currency?: string; paidAt?: Date } = {},
  providerPaymentId = 'pay-1',
): CaptureJudgement =>
  judgeCapture(facts(change), {
    providerPaymentId,
    money: { amount: 500, currency: 'EUR', paidAt: IN_TIME, ...money },
  });

describe('judgeCapture', () => {
  it.each(['pending_payment', 'closing'] as const)('pays an order that is %s', (orderStatus) => {
    expect(judge({ orderStatus })).toEqual({ verdict: 'pay', from: orderStatus });
    // Also after closesAt: the close has not won yet.
    expect(judge({ orderStatus }, { paidAt: TOO_LATE }).verdict).toBe('pay');
  });

  it.each(['open', 'failed', 'closed'] as const)(
    'pays although we took the payment for %s: money beats a negative notice',
    (paymentStatus) => expect(judge({ paymentStatus }).verdict).toBe('pay'),
  );

  it.each(['paid', 'shipped', 'completed', 'canceled'] as const)(
    'gives back a second payment of an order that is %s',
    (orderStatus) =>
      expect(judge({ orderStatus })).toEqual({ verdict: 'refund', reason: 'duplicate_payment' }),
  );

  it('knows money it has recorded already, whatever became of the order', () => {
    const captured = { amount: 500, currency: 'EUR' };
    for (const orderStatus of ORDER_STATUSES) {
      const judgement = judge({ paymentStatus: 'succeeded', captured, orderStatus });
      expect(judgement).toEqual({ verdict: 'known' });
    }
  });

  it('holds money that is not what was asked for', () => {
    expect(judge({}, { amount: 499 })).toEqual({ verdict: 'hold', reason: 'amount_mismatch' });
    expect(judge({}, { currency: 'USD' })).toEqual({
      verdict: 'hold',
      reason: 'currency_mismatch',
    });
    expect(judge({}, {}, 'pay-2')).toEqual({ verdict: 'hold', reason: 'reference_mismatch' });
    for (const captured of [
      { amount: 400, currency: 'EUR' },
      { amount: 500, currency: 'USD' },
    ]) {
      expect(judge({ paymentStatus: 'succeeded', captured })).toEqual({
        verdict: 'hold',
        reason: 'capture_changed',
      });
    }
  });

  describe('for a closed order', () => {
    const closed = { orderStatus: 'closed', closedByTimeout: true } as const;
    const refund = { verdict: 'refund', reason: 'late_payment' };

    it('gives the money back', () => expect(judge(closed)).toEqual(refund));

    it('leaves it to an operator if told so', () =>
      expect(judge({ ...closed, latePayment: 'hold' })).toEqual({
        verdict: 'hold',
        reason: 'late_payment',
      }));

    it('revives one closed by timeout that was paid in time by the provider’s clock', () => {
      const revive = { ...closed, latePayment: 'revive' } as const;
      expect(judge(revive)).toEqual({ verdict: 'revive' });
      expect(judge(revive, { paidAt: TOO_LATE })).toEqual(refund);
      expect(judge({ ...revive, closedByTimeout: false })).toEqual(refund);
      expect(judge({ ...revive, closesAt: null })).toEqual(refund);
    });
  });
});
