import 'reflect-metadata';
import { TargetSettling } from '../../libs/orders/src/targets/target-settling';
import { EXPIRED, KIND, OPEN } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const LONG_MS = 3_600_000;

describe('a payment of a close target, of which the shop knows what its provider calls it', () => {
  let shop: NumberedShop;
  beforeAll(async () => (shop = await openNumberedShop()));
  afterAll(() => shop?.close());

  const close = (orderId: string) => shop.targets.close({ kind: KIND, orderId }, 'canceled');
  const isClosed = (id: string) =>
    until('it is closed', () =>
      shop.first('SELECT 1 FROM orders WHERE id = $1 AND state = $2', [id, EXPIRED]),
    );

  async function placed(reference: string): Promise<string> {
    const id = await shop.place(LONG_MS, [reference]);
    await shop.client.query(
      `UPDATE payments SET provider_id = 'pay-' || reference WHERE order_id = $1`,
      [id],
    );
    return id;
  }
  /** What was recorded of an end, under the same reference. */
  const ended = (reference: string, orderId: string, providerPaymentId: string) =>
    shop.client.query(
      `INSERT INTO lastcall.target_payments (provider, payment_id, provider_payment_id, kind, order_id, status)
       VALUES ('acme', $1, $2, $3, $4, 'ended')`,
      [reference, providerPaymentId, KIND, orderId],
    );

  it('is not asked about once it has ended', async () => {
    const id = await placed('g-1');
    expect(await close(id)).toBe('closing');
    await isClosed(id);
    await shop.client.query('UPDATE orders SET state = $2 WHERE id = $1', [id, OPEN]);
    expect(await close(id)).toBe('closed');
  });

  it('has ended where nobody knew that when its end was told', async () => {
    const id = await placed('g-2');
    await ended('g-2', id, '');
    expect(await close(id)).toBe('closed');
  });

  it('is ended first where that has ended which was opened before under its reference', async () => {
    const id = await placed('g-3');
    await ended('g-3', id, 'pay-before');
    expect(await close(id)).toBe('closing');
    await isClosed(id);
    expect(shop.acme.entries.get('pay-g-3')?.status).toBe('closed');
  });

  it('raises no alert where we have sent its money back ourselves while its provider was asked', async () => {
    const settle = jest.spyOn(shop.module.get(TargetSettling), 'settle');
    let answer = (): void => undefined;
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    const isAsked = new Promise<void>((resolve) => {
      shop.acme.around = (call) => {
        if (call !== 'find') return Promise.resolve();
        resolve();
        return isAnswered;
      };
    });
    const id = await shop.place(LONG_MS, ['g-4', 'g-5']);
    expect(await close(id)).toBe('closing');
    await isAsked;
    await shop.receive(shop.acme.pay('g-4', new Date()));
    await shop.receive(shop.acme.pay('g-5', new Date()));
    await until('it is sent back', () =>
      shop.first(
        `SELECT 1 FROM lastcall.target_refunds WHERE payment_id = 'g-5' AND status = 'succeeded'`,
      ),
    );
    answer();
    await Promise.all(settle.mock.results.map(({ value }) => value as unknown));
    expect(shop.alerts).toEqual([]);
  });
});
