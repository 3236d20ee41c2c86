import type { Tx } from '@app/timeout';
import { CheckedTarget } from './checked-target';
import type { ClosesOrders, TargetPayment } from './close-target';

const WHOLE = {
  ...{ paymentId: 'p-1', providerPaymentId: 'pay-1', orderId: '7', provider: 'acme' },
  ...{ amount: 1_999, currency: 'EUR', expiresAt: new Date('2030-01-01') },
};
const NO_TX = {} as Tx;
const MONEY = { amount: 1_999, currency: 'EUR', paidAt: new Date('2029-12-31') };

/** A shop whose SQL gives this row, by whichever way it is asked for. */
function targetWith(row: object): CheckedTarget {
  const payments = async () => [row as TargetPayment];
  const rest = { lockOpen: jest.fn(), close: jest.fn(), markPaid: jest.fn() };
  const shop: ClosesOrders = { ...rest, openPayments: payments, findPayments: payments };
  return new CheckedTarget('order-close', shop);
}

describe('CheckedTarget', () => {
  const found = async (row: object) => (await targetWith(row).findPayments(['p-1'], NO_TX))[0];
  const open = (row: object) => targetWith(row).openPayments(['7'], NO_TX);

  it('makes text and numbers of what SQL gives for them', async () => {
    const asSql = { ...WHOLE, orderId: 7, amount: '1999', expiresAt: '2030-01-01T00:00:00Z' };
    expect(await found(asSql)).toEqual({ ...WHOLE, request: null });
  });

  it.each(['orderId', 'amount', 'expiresAt'])(
    'refuses a payment whose %s is not there, and says how to mend it',
    async (name) => {
      for (const nothing of [null, undefined]) {
        const row = { ...WHOLE, [name]: nothing };
        const words = new RegExp(
          `^The close target "order-close": payment p-1: ${name} is missing: .*before`,
        );
        await expect(found(row)).rejects.toThrow(words);
        await expect(open(row)).rejects.toThrow(words);
      }
    },
  );

  it.each([null, undefined])('refuses a payment whose id is %s', async (paymentId) => {
    await expect(open({ ...WHOLE, paymentId })).rejects.toThrow(
      'The close target "order-close": a payment of order 7: paymentId is missing',
    );
  });

  it.each([
    [{ amount: 19.99 }, 'amount is no whole number of minor units'],
    [{ amount: 'much' }, 'amount is no whole number of minor units'],
    [{ currency: null }, 'currency is missing'],
    [{ provider: undefined }, 'provider is missing'],
    [{ expiresAt: 'soon' }, 'expiresAt is no instant'],
  ])('refuses a payment with %j', async (wrong, why) => {
    const words = `The close target "order-close": payment p-1: ${why}`;
    await expect(found({ ...WHOLE, ...wrong })).rejects.toThrow(words);
    await expect(open({ ...WHOLE, ...wrong })).rejects.toThrow(words);
  });

  describe.each(['close', 'markPaid'] as const)('whose %s', (method) => {
    const change = (answers: readonly unknown[]): Promise<void> => {
      const shop = { lockOpen: jest.fn(), openPayments: jest.fn(), findPayments: jest.fn() };
      const methods = { close: async () => answers, markPaid: async () => answers };
      const target = new CheckedTarget('order-close', { ...shop, ...methods } as never);
      const orders = ['7', '8'].map((id) => ({ ...WHOLE, id, money: MONEY }));
      return method === 'close'
        ? target.close(['7', '8'], 'payment_timeout', NO_TX)
        : target.markPaid(orders, NO_TX);
    };

    it('leaves out an order is refused, and so is one that changes a stranger', async () => {
      await expect(change([7])).rejects.toThrow(`${method} left out order 8`);
      await expect(change(['7', '8', '9'])).rejects.toThrow(`${method} answered with 9`);
      await expect(change([8, '7'])).resolves.toBeUndefined();
    });
  });

  it('takes an empty id of the provider for none that is known yet', async () => {
    for (const providerPaymentId of ['', null, undefined]) {
      expect(await found({ ...WHOLE, providerPaymentId })).toMatchObject({
        providerPaymentId: null,
      });
    }
  });

  it('refuses a target that lacks a method, before anything is asked of it', () => {
    const shop = { lockOpen: jest.fn(), openPayments: jest.fn(), markPaid: jest.fn() };
    const whyNot = (lacking: object, lacked: string) =>
      expect(() => new CheckedTarget('order-close', lacking as never)).toThrow(
        new TypeError(`The close target "order-close": it must have the methods ${lacked}`),
      );
    whyNot(shop, 'findPayments, close');
    whyNot({ ...shop, findPayments: jest.fn() }, 'close');
  });
});
