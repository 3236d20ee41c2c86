import { announcedAt, checkoutStateOf, clockText, Countdown, type ShownOrder } from './index';

const order = (status: string, payments: Partial<ShownOrder['payments'][number]>[] = []) =>
  ({
    status,
    payments: payments.map((one) => ({
      ...{ status: 'succeeded', checkoutUrl: null, holdReason: null, refund: null },
      ...one,
    })),
  }) as unknown as ShownOrder;

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
    ['closed', order('canceled'), 5_000],
    ['refunded', order('closed', [{ refund: { status: 'requested' } }]), 0],
    ['held', order('closed', [{ holdReason: 'late_payment' }]), 0],
  ])('is %s', (state, shown, msLeft) => {
    expect(checkoutStateOf(shown, msLeft)).toBe(state);
  });
});

describe('the countdown', () => {
  it('goes by the server, from when it was asked, and is corrected by each answer', () => {
    let now = 1_000;
    const countdown = new Countdown(() => now);
    const asked = countdown.mark();
    now += 400;
    countdown.anchor({ payBy: '2030-01-01T00:10:00Z', serverNow: '2030-01-01T00:00:00Z' }, asked);
    expect(countdown.msLeft()).toBe(599_600);
    now += 60_000;
    countdown.anchor({ payBy: '2030-01-01T00:10:00Z', serverNow: '2030-01-01T00:09:59Z' }, now);
    expect(countdown.msLeft()).toBe(1_000);
    now += 5_000;
    expect(countdown.msLeft()).toBe(0);
  });

  it('has nothing left without an end', () => {
    const countdown = new Countdown(() => 5);
    countdown.anchor({ payBy: null, serverNow: '2030-01-01T00:00:00Z' }, 5);
    expect(countdown.msLeft()).toBe(0);
  });

  it('shows digits, and the last second as long as it lasts', () => {
    expect([600_000, 599_999, 59_001, 1, 0].map(clockText)).toEqual([
      ...['10:00', '10:00', '1:00', '0:01', '0:00'],
    ]);
  });

  it('is said aloud at a few marks only', () => {
    expect([300_001, 300_000, 61_000, 60_000, 9_999, 0].map(announcedAt)).toEqual([
      ...[undefined, 300, 120, 60, 10, 10],
    ]);
  });
});
