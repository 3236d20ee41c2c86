import 'reflect-metadata';
import { KIND, OPEN } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';

const LONG_MS = 3_600_000;

describe('an order whose payment is being opened, with a row that does not say until when', () => {
  let shop: NumberedShop;
  let orderId: string;
  beforeAll(async () => {
    shop = await openNumberedShop();
    await shop.client.query('ALTER TABLE payments ALTER expires_at DROP NOT NULL');
    orderId = await shop.place(LONG_MS, ['n-1']);
    // The call is under way: the provider has no such payment yet, and will have one.
    shop.acme.entries.delete('pay-n-1');
  });
  afterAll(() => shop?.close());

  const close = () => shop.targets.close({ kind: KIND, orderId }, 'canceled');
  const expires = (at: string) =>
    shop.client.query(`UPDATE payments SET expires_at = ${at} WHERE reference = 'n-1'`);

  it('is not closed, and its shop is told what is wrong', async () => {
    await expires('NULL');
    await expect(close()).rejects.toThrow(
      'The close target "order-close": payment n-1: expiresAt is missing',
    );
    const order = await shop.first('SELECT state FROM orders WHERE id = $1', [orderId]);
    expect(Number(order?.state)).toBe(OPEN);
  });

  it('goes behind the fence once its row says it', async () => {
    await expires(`now() + interval '1 hour'`);
    expect(await close()).toBe('closing');
  });
});
