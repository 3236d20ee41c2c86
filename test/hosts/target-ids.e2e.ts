import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { LedgerEntry } from '../support/ledger-provider';
import { EXPIRED, KIND, NumberedOrders, OPEN, PAID } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const LONG_MS = 3_600_000;

/** A bug of an adapter: what it knows of one payment it tells of another one. */
describe('a provider payment that is two payments of close targets', () => {
  let shop: NumberedShop;
  beforeAll(async () => (shop = await openNumberedShop()));
  afterAll(() => shop?.close());
  beforeEach(() => {
    shop.alerts.length = 0;
    shop.failures.length = 0;
  });

  const entry = (reference: string) => shop.acme.entries.get(`pay-${reference}`) as LedgerEntry;
  const stateOf = async (id: string) =>
    Number((await shop.first('SELECT state FROM orders WHERE id = $1', [id]))?.state);
  const waitsOf = async (subject: string) =>
    (await shop.targets.waiting()).filter((one) => one.subject === subject);
  /** What the provider has for the first, told as if it were for the second. */
  const toldFor = (reference: string, of: string) =>
    shop.acme.succeeded({ ...entry(of), reference }, randomUUID());
  const named = (theirs: string, first: string, second: string) =>
    `record money: TypeError: The provider "acme" gives the id "${theirs}" to two payments, ${first} and ${second}: ` +
    'its adapter has to give each payment an id of its own. Nothing is done for the first one by it';

  /** What became of all webhooks about this payment. */
  const resultsOf = (reference: string) =>
    until('its webhooks are settled', async () => {
      const { rows } = await shop.client.query<{ result: string | null }>(
        `SELECT result FROM lastcall.target_webhooks WHERE notice ->> 'paymentId' = $1 ORDER BY id`,
        [reference],
      );
      const results = rows.map(({ result }) => result);
      return results.includes(null) ? undefined : results;
    });

  it('pays for the first, and what is told of the second is held', async () => {
    const [first, second] = [
      await shop.place(LONG_MS, ['a-1']),
      await shop.place(LONG_MS, ['a-2']),
    ];
    await shop.receive(shop.acme.pay('a-1', new Date()));
    await until('it is paid', async () => (await stateOf(first)) === PAID);
    await shop.receive(toldFor('a-2', 'a-1'));
    expect(await resultsOf('a-2')).toEqual(['id_of_another_payment']);
    const [held] = await waitsOf('a-2');
    expect(held).toMatchObject({ what: 'webhook_held', amount: 1_999 });
    expect(held?.detail).toContain('id_of_another_payment');
    expect(await stateOf(second)).toBe(OPEN);
    // Both are told behind the commit, which others see before.
    await until('it is told', () => shop.alerts.length > 0 && shop.failures.length > 0);
    expect(shop.failures).toEqual([named('pay-a-1', 'a-2', 'a-1')]);
    const fields = { provider: 'acme', paymentId: 'a-2', providerPaymentId: 'pay-a-1' };
    expect(shop.alerts).toEqual([['id_of_another_payment', fields]]);
    // Once the adapter is mended.
    await shop.receive(shop.acme.pay('a-2', new Date()));
    await until('it is paid', async () => (await stateOf(second)) === PAID);
  });

  it('pays for both where it is one of each of two providers', async () => {
    const [first, second] = [
      await shop.place(LONG_MS, ['e-1']),
      await shop.place(LONG_MS, ['e-2']),
    ];
    await shop.receive(shop.acme.pay('e-1', new Date()));
    await until('it is paid', async () => (await stateOf(first)) === PAID);
    await shop.client.query(
      `UPDATE lastcall.target_payments SET provider = 'pear', provider_payment_id = 'pay-e-2'
        WHERE payment_id = 'e-1'`,
    );
    await shop.receive(shop.acme.pay('e-2', new Date()));
    expect(await resultsOf('e-2')).toEqual(['paid']);
    expect(await stateOf(second)).toBe(PAID);
  });

  it('pays for one of two that are told of at once', async () => {
    const ids = [await shop.place(LONG_MS, ['b-1']), await shop.place(LONG_MS, ['b-2'])];
    const posted = shop.acme.pay('b-1', new Date());
    await Promise.all([shop.receive(posted), shop.receive(toldFor('b-2', 'b-1'))]);
    const results = [...(await resultsOf('b-1')), ...(await resultsOf('b-2'))];
    expect(results.sort()).toEqual(['id_of_another_payment', 'paid']);
    const states = await Promise.all(ids.map(stateOf));
    expect(states.sort()).toEqual([OPEN, PAID]);
    const twice = shop.client.query(
      `INSERT INTO lastcall.target_payments
         (provider, payment_id, provider_payment_id, kind, order_id, status, amount, currency, verdict)
       SELECT provider, 'b-3', provider_payment_id, kind, order_id, status, amount, currency, verdict
         FROM lastcall.target_payments WHERE provider_payment_id = 'pay-b-1'`,
    );
    await expect(twice).rejects.toThrow('target_payments_by_their_id');
  });

  it('sends late money back once', async () => {
    const ids = [await shop.place(0, ['c-1']), await shop.place(0, ['c-2'])];
    for (const id of ids) await until('closed', async () => (await stateOf(id)) === EXPIRED);
    await shop.receive(shop.acme.pay('c-1', new Date(), { late: true }));
    await shop.receive(toldFor('c-2', 'c-1'));
    const results = [...(await resultsOf('c-1')), ...(await resultsOf('c-2'))];
    expect(results.sort()).toEqual(['id_of_another_payment', 'refund_requested']);
    const refunds = await shop.client.query(
      `SELECT FROM lastcall.target_refunds WHERE provider_payment_id = 'pay-c-1'`,
    );
    expect(refunds.rows).toHaveLength(1);
  });

  it('neither pays nor closes an order whose provider answers by it, until a person says what it is', async () => {
    const first = await shop.place(LONG_MS, ['d-1']);
    await shop.receive(shop.acme.pay('d-1', new Date()));
    await until('it is paid', async () => (await stateOf(first)) === PAID);
    const orderId = await shop.place(LONG_MS, ['d-2']);
    const find = shop.acme.findPayment.bind(shop.acme);
    const finding = jest
      .spyOn(shop.acme, 'findPayment')
      .mockImplementation((ref) =>
        find({ ...ref, paymentId: ref.paymentId.replace('d-2', 'd-1') }),
      );
    expect(await shop.targets.close({ kind: KIND, orderId }, 'canceled')).toBe('closing');
    // Those of the tests before are told behind their commits, too.
    await until('it is told of', () => shop.failures.includes(named('pay-d-1', 'd-2', 'd-1')));
    expect(await stateOf(orderId)).toBe(OPEN);
    const [wait] = await waitsOf(orderId);
    expect(wait).toMatchObject({ what: 'order_closing', exits: ['closed', 'paid'] });
    const numbered = shop.module.get(NumberedOrders);
    const findPayments = numbered.findPayments.bind(numbered);
    const knowing = jest
      .spyOn(numbered, 'findPayments')
      .mockImplementation(async (ids, tx) =>
        (await findPayments(ids, tx)).map((one) => ({ ...one, providerPaymentId: 'pay-d-1' })),
      );
    const ann = { actor: 'ann', reason: 'says the adapter' };
    await shop.targets.settle(String(wait?.id), 'paid', { ...ann, payment: 'd-2' });
    const refused = await until('that is refused', () =>
      shop.alerts.find(([what]) => what === 'operators_word_refused'),
    );
    expect(refused[1]).toMatchObject({
      ...{ orderId, payment: 'd-2' },
      why: "payment d-1 has its id at the provider, and that one's money",
    });
    knowing.mockRestore();
    finding.mockRestore();
    await until('it is closed', async () => (await stateOf(orderId)) === EXPIRED);
  });
});
