import { type StartedShop, startShop } from '../support/shop';
import { until } from '../support/until';

describe('a notice that is faster than the answer to our own call', () => {
  let shop: StartedShop;

  beforeAll(async () => {
    shop = await startShop();
  });
  afterAll(() => shop?.close());
  afterEach(() => shop.faults({ timeoutRate: 0, latencyMs: 0, operations: null }));

  /** The provider creates the payment, and its answer is on the way for as long as we like. */
  const startUnanswered = async (orderId: string) => {
    await shop.faults({
      timeoutRate: 1,
      carriedOutRate: 1,
      timeoutHoldMs: 1_500,
      operations: ['payment.create'],
    });
    const known = new Set((await shop.ledger()).map(({ id }) => id));
    const starting = shop.startPayment(orderId).catch((error: unknown) => error);
    const payment = await until('the provider has it', async () =>
      (await shop.ledger()).find(({ id, status }) => !known.has(id) && status === 'open'),
    );
    return { starting, payment };
  };

  it('pays the order; the answer that never comes changes nothing', async () => {
    const order = await shop.place();
    const { starting, payment } = await startUnanswered(order.id);
    await shop.buyerPays(payment.id);
    await shop.untilOrder(order.id, 'paid');
    expect(String(await starting)).toContain('provider_error');
    const [row] = await shop.sql.rows(
      'SELECT status, provider_payment_id FROM payments WHERE order_id = $1',
      [order.id],
    );
    expect(row).toEqual({ status: 'succeeded', provider_payment_id: payment.id });
    await shop.untilSound();
  });

  it('takes one of two payments, and ends or refunds the other', async () => {
    const order = await shop.place();
    const { starting, payment: unanswered } = await startUnanswered(order.id);
    await starting;
    await shop.faults({ timeoutRate: 0, operations: null });
    // The customer tries again, and pays; the first one is still open at the provider.
    const second = await shop.startAnotherPayment(order.id);
    await shop.buyerPays(second.providerPaymentId as string);
    await shop.untilOrder(order.id, 'paid');
    await until('the other payment is closed at the provider', async () =>
      (await shop.ledger()).some(({ id, status }) => id === unanswered.id && status === 'closed'),
    );
    // Their bank is slow, and pays the closed one as well: a duplicate.
    await shop.buyerPays(unanswered.id, { afterClose: true });
    await shop.untilRefunded(order.id);
    expect(await shop.refundsOf(order.id)).toMatchObject([{ reason: 'duplicate_payment' }]);
    expect(await shop.orderStatus(order.id)).toBe('paid');
    await shop.untilSound();
  });

  it('holds money of another amount or currency, which pays nothing', async () => {
    const short = await shop.placeWithPayment();
    const foreign = await shop.placeWithPayment();
    await shop.buyerPays(short.providerId, { amount: 499 });
    await shop.buyerPays(foreign.providerId, { currency: 'USD' });
    const held = await until('both are held', async () => {
      const rows = await shop.sql.rows<{ hold_reason: string }>(
        `SELECT hold_reason FROM payments WHERE hold_reason IS NOT NULL AND id = ANY ($1::uuid[])
          ORDER BY id`,
        [[short.paymentId, foreign.paymentId]],
      );
      return rows.length === 2 ? rows : undefined;
    });
    expect(held.map((row) => row.hold_reason)).toEqual(['amount_mismatch', 'currency_mismatch']);
    expect(await shop.orderStatus(short.orderId)).toBe('pending_payment');
    await shop.untilSound();
  });

  it('does not let a failed attempt undo another that has paid', async () => {
    const { orderId, providerId } = await shop.placeWithPayment();
    const second = await shop.startAnotherPayment(orderId);
    await shop.faults({ reorderWebhooks: true, duplicateWebhooks: 2 });
    await shop.sandbox('POST', `/v1/payments/${second.providerPaymentId}/fail`);
    await shop.buyerPays(providerId);
    await shop.untilOrder(orderId, 'paid');
    await shop.untilDelivered(second.providerPaymentId as string, 'payment.failed');
    expect(await shop.orderStatus(orderId)).toBe('paid');
    await shop.untilSound();
  });
});
