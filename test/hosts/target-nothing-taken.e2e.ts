import 'reflect-metadata';
import { EXPIRED, PAID } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const LONG_MS = 3_600_000;
const ANN = { actor: 'ann', reason: 'a coupon for all of it' };

/** As where a coupon covers all of it: its provider tells of a payment, and of no money. */
describe('a payment of a close target by which nothing was taken', () => {
  let shop: NumberedShop;
  beforeAll(async () => (shop = await openNumberedShop()));
  afterAll(() => shop?.close());
  beforeEach(() => void (shop.failures.length = 0));

  const untilState = (id: string, state: number) =>
    until(`the order is ${state}`, async () => {
      const order = await shop.first('SELECT state FROM orders WHERE id = $1', [id]);
      return Number(order?.state) === state;
    });
  const recordedOf = (reference: string) =>
    until('it is recorded', () =>
      shop.first(
        `SELECT amount, verdict, hold_reason FROM lastcall.target_payments
          WHERE payment_id = $1 AND status = 'captured'`,
        [reference],
      ),
    );
  const refundOf = (reference: string) =>
    shop.first('SELECT 1 FROM lastcall.target_refunds WHERE payment_id = $1', [reference]);
  const resultOf = async (reference: string) => {
    const sql = `SELECT result FROM lastcall.target_webhooks WHERE notice ->> 'paymentId' = $1`;
    return (await shop.first(sql, [reference]))?.result;
  };
  const costsNothing = (reference: string) =>
    shop.client.query('UPDATE payments SET amount = 0 WHERE reference = $1', [reference]);
  const payNothing = (reference: string, late = false) =>
    shop.acme.pay(reference, new Date(), { late, amount: 0 });

  it('is applied to an order that is closed, and nothing goes back', async () => {
    const id = await shop.place(0, ['z-1']);
    await untilState(id, EXPIRED);
    await costsNothing('z-1');
    await shop.receive(payNothing('z-1', true));
    await until('its webhook is applied', () => resultOf('z-1'));
    expect(await recordedOf('z-1')).toMatchObject({ amount: '0', verdict: 'refund' });
    expect(await refundOf('z-1')).toBeUndefined();
    expect(shop.failures).toEqual([]);
  });

  it('ends the questions about it where another payment has paid the order', async () => {
    const id = await shop.place(LONG_MS, ['z-2', 'z-3']);
    await costsNothing('z-3');
    payNothing('z-3');
    const findPayment = shop.acme.findPayment.bind(shop.acme);
    const money = { amount: 0, currency: 'EUR', paidAt: new Date() };
    const finding = jest
      .spyOn(shop.acme, 'findPayment')
      .mockImplementation((ref) =>
        ref.paymentId === 'z-3'
          ? Promise.resolve({ state: 'PAID', providerPaymentId: 'pay-z-3', money })
          : findPayment(ref),
      );
    try {
      await shop.receive(shop.acme.pay('z-2', new Date()));
      await untilState(id, PAID);
      expect(await recordedOf('z-3')).toMatchObject({ amount: '0', verdict: 'refund' });
    } finally {
      finding.mockRestore();
    }
    expect(await refundOf('z-3')).toBeUndefined();
    expect(shop.failures).toEqual([]);
  });

  it('is kept where it waits for a person: there is nothing that could go back', async () => {
    const id = await shop.place(LONG_MS, ['z-4']);
    await shop.receive(payNothing('z-4'));
    await until('its webhook is applied', () => resultOf('z-4'));
    const [wait] = (await shop.targets.waiting()).filter(({ subject }) => subject === id);
    const held = { what: 'money_on_hold', amount: 0, detail: 'amount_mismatch' };
    expect(wait).toMatchObject(held);
    const settle = (exit: 'refund' | 'keep') => shop.targets.settle(String(wait?.id), exit, ANN);
    await expect(settle('refund')).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('Nothing was taken, so nothing can go back') as unknown,
    });
    expect(wait?.exits).toEqual(['keep']);
    await settle('keep');
    expect(await recordedOf('z-4')).toMatchObject({ verdict: 'keep' });
    expect(await resultOf('z-4')).toBe('settled');
  });
});
