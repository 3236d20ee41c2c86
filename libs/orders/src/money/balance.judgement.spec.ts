import type { PaymentBalance } from './balance';
import { judgeMoney, judgeShipping } from './balance.judgement';

const balance = (change: Partial<PaymentBalance> = {}): PaymentBalance => ({
  orderId: 'o1',
  paymentId: 'p1',
  currency: 'EUR',
  captured: 1,
  refunded: 0,
  refunding: 0,
  disputed: 0,
  inDispute: 0,
  held: 0,
  isForTheShop: false,
  paysForNothing: false,
  ...change,
});

/** What keeps goods of an order of a single minor unit in the house, and what becomes of it as it is paid. */
const judged = (change: Partial<PaymentBalance>) => {
  const money = { amount: 1, balances: [balance(change)] };
  return [judgeShipping(money), judgeMoney({ ...money, status: 'paid' })];
};

describe('the money of a paid order', () => {
  it('lets it be shipped while some is left, be it the smallest there is', () => {
    expect(judged({})).toEqual([undefined, 'nothing']);
    expect(judged({ captured: 500, refunded: 300, refunding: 199 })).toEqual([
      undefined,
      'nothing',
    ]);
  });

  it.each<Partial<PaymentBalance>>([
    { refunded: 1 },
    { refunding: 1 },
    { disputed: 1 },
    { isForTheShop: true },
  ])('cancels it once nothing is left: %o', (gone) => {
    expect(judged(gone)).toEqual(['refunded', 'cancel']);
  });

  it('keeps it as it is while nobody knows whose that is', () => {
    expect(judged({ disputed: 1, inDispute: 1 })).toEqual(['disputed', 'nothing']);
    expect(judged({ held: 1 })).toEqual(['money_on_hold', 'nothing']);
  });

  it('is not asked for of an order that costs nothing', () => {
    expect(judgeShipping({ amount: 0, balances: [] })).toBeUndefined();
    expect(judgeMoney({ amount: 0, balances: [], status: 'paid' })).toBe('nothing');
  });
});
