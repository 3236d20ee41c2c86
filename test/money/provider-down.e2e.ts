import { Gauges } from '@app/orders';
import { type StartedShop, startShop } from '../support/shop';
import { until } from '../support/until';

const DOWN = { errorRate: 1, carriedOutRate: 0 };
const UP = { errorRate: 0 };

describe('a provider that is down for the whole closing time', () => {
  let shop: StartedShop;

  beforeAll(async () => {
    shop = await startShop();
    // Nobody tells us anything: what is known is known by asking.
    await shop.faults({ dropWebhooks: true });
  });
  afterAll(() => shop?.close());
  afterEach(() => shop.faults(UP));

  it('keeps the fence and the stock, then closes what was not paid and pays what was', async () => {
    const paid = await shop.placeWithPayment();
    const unpaid = await shop.placeWithPayment();
    await shop.faults(DOWN);
    await shop.buyerPays(paid.providerId);
    await shop.passDeadline([paid.orderId, unpaid.orderId]);
    await shop.untilOrder(paid.orderId, 'closing');
    await shop.untilOrder(unpaid.orderId, 'closing');
    const gauges = shop.app.app.get(Gauges);
    await untilAsked(shop, paid.orderId);
    await untilAsked(shop, unpaid.orderId);
    await until('two rounds of asking are over', async () => {
      const { oldestClosingSeconds } = await gauges.read();
      return oldestClosingSeconds > 2;
    });
    expect(await shop.orderStatus(paid.orderId)).toBe('closing');
    expect(await shop.orderStatus(unpaid.orderId)).toBe('closing');
    expect(await reserved(shop)).toBe(2);
    await expect(shop.startPayment(paid.orderId)).rejects.toThrow('payment_window_over');

    await shop.faults(UP);
    await shop.untilOrder(paid.orderId, 'paid');
    await shop.untilOrder(unpaid.orderId, 'closed');
    await until('the stock is back', async () => (await reserved(shop)) === 0);
    expect((await gauges.read()).oldestClosingSeconds).toBe(0);
    await shop.untilSound();
  });

  it('does not read "cannot be looked up" as "not paid"', async () => {
    const { orderId, paymentId, providerId } = await shop.placeWithPayment();
    // The answer to our create call never reached us, so the payment is found by our own id.
    await shop.sql.rows('UPDATE payments SET provider_payment_id = NULL WHERE id = $1', [
      paymentId,
    ]);
    await shop.faults({ malformedRate: 1 });
    await shop.buyerPays(providerId);
    await shop.passDeadline([orderId]);
    await shop.untilOrder(orderId, 'closing');
    await untilAsked(shop, orderId);
    await shop.faults({ malformedRate: 0 });
    await shop.untilOrder(orderId, 'paid');
    await shop.untilSound();
  });
});

/** And no answer was to be had of its provider. */
const untilAsked = (shop: StartedShop, orderId: string): Promise<unknown> =>
  until('it is known why there is no answer', async () => {
    const sql = 'SELECT FROM payments WHERE order_id = $1 AND error IS NOT NULL';
    return (await shop.sql.rows(sql, [orderId])).length === 1;
  });

async function reserved(shop: StartedShop): Promise<number> {
  const [row] = await shop.sql.rows<{ n: number }>(
    `SELECT coalesce(sum(reserved), 0)::int AS n FROM products`,
  );
  return row?.n ?? 0;
}
