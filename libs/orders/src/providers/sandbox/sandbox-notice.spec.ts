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
    const missing = () => read({ type: 'payment.succeeded', data: { ...data, amount: undefined } });
    expect(missing).toThrow('data.amount: is missing');
  });
});
