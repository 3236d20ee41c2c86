import { LastcallError } from '../../order/errors';
import { readNotice } from './sandbox-notice';

const read = (body: unknown) => readNotice(Buffer.from(JSON.stringify(body)));

describe('what the sandbox tells', () => {
  it.each([[[1]], [undefined], ['all of it'], [{ amount: 12.5, reference: null }]])(
    'of a type that is nothing to us is ignored, whatever it says: %j',
    (data) => {
      const ignored = { type: 'ignored', providerType: 'customer.updated' };
      expect(read({ type: 'customer.updated', data })).toEqual(ignored);
    },
  );

  it('of money is refused with what is wrong', () => {
    const data = { providerPaymentId: 'p', reference: 'r', amount: 12.5, currency: 'EUR' };
    const reading = () => read({ type: 'payment.succeeded', data });
    expect(reading).toThrow(LastcallError);
    expect(reading).toThrow('data.amount');
    for (const body of [{}, { type: 7 }]) expect(() => read(body)).toThrow('type');
    for (const body of [[], null]) expect(() => read(body)).toThrow('body: must be an object');
    const money = { ...data, amount: 1_250, paidAt: '2026-03-01T12:00:00Z' };
    for (const [wrong, message] of [
      [{ amount: -1 }, 'data.amount: must be a whole number from 0 to 9007199254740991'],
      [{ amount: 1e18 }, 'data.amount: must be a whole number from 0 to 9007199254740991'],
      [{ amount: '1250' }, 'data.amount: must be a whole number from 0 to 9007199254740991'],
      [{ currency: 'EURO' }, 'data.currency: must be an ISO 4217 code such as EUR'],
      [{ currency: 978 }, 'data.currency: must be an ISO 4217 code such as EUR'],
      [{ paidAt: 'yesterday' }, 'data.paidAt: must be an instant as 2026-01-31T12:00:00Z'],
      [{ providerPaymentId: '' }, 'data.providerPaymentId: must not be empty'],
      [{ returned: -1 }, 'data.returned: must be a whole number from 0 to 9007199254740991'],
    ] as const) {
      const told = { type: 'payment.succeeded', data: { ...money, ...wrong } };
      expect(() => read(told)).toThrow(message);
    }
    const missing = () => read({ type: 'payment.succeeded', data: { ...data, amount: undefined } });
    expect(missing).toThrow('data.amount: is missing');
  });
});
