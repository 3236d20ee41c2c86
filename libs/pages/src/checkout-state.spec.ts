import { announcedAt, checkoutStateOf, clockText, moneyText, type ShownOrder } from './index';

const order = (
  status: string,
  payments: Partial<ShownOrder['payments'][number]>[] = [],
  balance: Partial<ShownOrder['balance']> = {},
) =>
  ({
    status,
    balance: { captured: 0, refunded: 0, disputed: 0, ...balance },
    payments: payments.map((one) => ({
      ...{ status: 'succeeded', checkoutUrl: null, holdReason: null, refund: null },
      ...one,
    })),
  }) as unknown as ShownOrder;

const refund = (status: string, amount: number) => ({ refund: { status, amount } });

describe('what a buyer is told', () => {
  it.each([
    ['waiting', order('pending_payment'), 1],
    ['paying', order('pending_payment', [{ status: 'open' }]), 1],
    ['waiting', order('pending_payment', [{ status: 'failed' }]), 1],
    ['checking', order('pending_payment', [{ status: 'open' }]), 0],
    ['checking', order('closing'), 0],
    ['paid', order('paid', [{}]), 0],
    ['paid', order('shipped', [{}]), 0],
    ['closed', order('closed', [{ status: 'closed' }]), 0],
    ['canceled', order('canceled'), 5_000],
    ['canceled', order('canceled', [refund('succeeded', 500)]), 0],
    ['canceled', order('canceled', [{}], { captured: 500, refunded: 500 }), 0],
    ['refunded', order('closed', [{}], { captured: 500, refunded: 500 }), 0],
    ['kept', order('closed', [{}], { captured: 500 }), 0],
    ['refunded', order('closed', [refund('requested', 500)], { captured: 500 }), 0],
    ['refunded', order('closed', [refund('needs_attention', 500)], { captured: 500 }), 0],
    ['refunded', order('closed', [refund('pending', 300)], { captured: 500, refunded: 200 }), 0],
    ['refunded', order('closed', [refund('canceled', 500)], { captured: 500, disputed: 500 }), 0],
    // Taken in another currency: it is in no balance, and goes back whole.
    ['refunded', order('closed', [refund('requested', 500)]), 0],
    ['refunded', order('closed', [refund('succeeded', 500)]), 0],
    ['kept', order('closed', [{}]), 0],
    // An operator has sent a part of it back.
    ['kept', order('closed', [refund('requested', 300)], { captured: 500 }), 0],
    ['kept', order('closed', [refund('succeeded', 300)], { captured: 500, refunded: 300 }), 0],
    ['kept', order('closed', [refund('canceled', 500)], { captured: 500 }), 0],
    ['kept', order('closed', [{}], { captured: 500, refunded: 300 }), 0],
    ['kept', order('closed', [{}], { captured: 500, disputed: 500 }), 0],
    ['closed', order('closed', [{ status: 'failed' }, { status: 'closed' }]), 0],
    ['held', order('closed', [{ holdReason: 'late_payment' }]), 0],
  ])('is %s', (state, shown, msLeft) => {
    expect(checkoutStateOf(shown, msLeft)).toBe(state);
  });
});

describe('the countdown', () => {
  it('shows digits, and the last second as long as it lasts', () => {
    expect([600_000, 599_999, 59_001, 1, 0].map(clockText)).toEqual([
      ...['10:00', '10:00', '1:00', '0:01', '0:00'],
    ]);
    const long = [3_599_000, 3_600_000, 3_723_000, 2 * 86_400_000];
    expect(long.map(clockText)).toEqual(['59:59', '1:00:00', '1:02:03', '48:00:00']);
  });

  it('is said aloud at a few marks only', () => {
    expect([300_001, 300_000, 61_000, 60_000, 9_999, 0].map(announcedAt)).toEqual([
      ...[undefined, 300, 120, 60, 10, 10],
    ]);
  });
});

it('writes an amount with as many decimals as its currency has', () => {
  expect(moneyText(123_456, 'EUR', 'en')).toBe('€1,234.56');
  expect(moneyText(123_456, 'JPY', 'en')).toBe('¥123,456');
  expect(moneyText(123_456, 'KWD', 'en')).toBe('KWD\u00a0123.456');
});

it.each([
  ['HUF', 'HUF\u00a04,990.00'],
  ['IDR', 'IDR\u00a04,990.00'],
  ['IQD', 'IQD\u00a0499.000'],
])('writes %s as it is counted, where languages write it without decimals', (currency, text) => {
  expect(moneyText(499_000, currency, 'en')).toBe(text);
});

it('writes money that a provider calls anything as it was told', () => {
  expect(moneyText(1_250, 'EURO', 'en')).toBe('1250 minor units of "EURO"');
});
