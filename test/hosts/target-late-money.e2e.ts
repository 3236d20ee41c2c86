import 'reflect-metadata';
import { EXPIRED } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const ANN = { actor: 'ann', reason: 'the buyer still wants it' };

describe('late money of a close target whose shop decides about it', () => {
  let shop: NumberedShop;
  beforeAll(async () => (shop = await openNumberedShop({ latePayment: 'hold' })));
  afterAll(() => shop?.close());

  /** Its order was closed before; answers with what waits for a person. */
  async function paidTooLate(reference: string) {
    const id = await shop.place(0, [reference]);
    const closed = 'SELECT 1 FROM orders WHERE id = $1 AND state = $2';
    await until('it is closed', () => shop.first(closed, [id, EXPIRED]));
    await shop.receive(shop.acme.pay(reference, new Date(), { late: true }));
    return until('it waits', async () =>
      (await shop.targets.waiting()).find(
        ({ what, subject }) => what === 'money_on_hold' && subject === id,
      ),
    );
  }
  const refunded = (reference: string) => shop.acme.entries.get(`pay-${reference}`)?.refunds.length;
  const asked = (reference: string) =>
    shop.first('SELECT 1 FROM lastcall.target_refunds WHERE payment_id = $1', [reference]);

  it('is on hold until it is sent back', async () => {
    const wait = await paidTooLate('late-1');
    expect(wait).toMatchObject({
      detail: 'late_payment',
      amount: 1_999,
      exits: ['refund', 'keep'],
    });
    expect(await asked('late-1')).toBeUndefined();
    await shop.targets.settle(wait.id, 'refund', ANN);
    await until('it is sent back', () => refunded('late-1') === 1);
  });

  it('is on hold until it is kept', async () => {
    const wait = await paidTooLate('late-2');
    for (const nobody of [{ actor: ' ' }, { actor: undefined as never }, { reason: '' }]) {
      const keeping = shop.targets.settle(wait.id, 'keep', { ...ANN, ...nobody });
      await expect(keeping).rejects.toMatchObject({ code: 'invalid_request' });
    }
    await shop.targets.settle(wait.id, 'keep', ANN);
    expect(await asked('late-2')).toBeUndefined();
    expect((await shop.targets.waiting()).map(({ id }) => id)).not.toContain(wait.id);
  });
});
