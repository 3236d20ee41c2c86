import { type StartedShop, startShop } from '../support/shop';

describe('money that was there in time, and told of late', () => {
  let shop: StartedShop;

  beforeAll(async () => {
    shop = await startShop();
  });
  afterAll(() => shop?.close());

  it('pays the order at its deadline, long before the notice comes', async () => {
    await shop.faults({ webhookDelayMs: 600_000 });
    const { orderId, providerId } = await shop.placeWithPayment();
    await shop.buyerPays(providerId);
    await shop.passDeadline([orderId]);
    await shop.untilOrder(orderId, 'paid');

    // Ten minutes later, for all that the shop knows: the notice arrives at last, three times.
    await shop.faults({ webhookDelayMs: 0 });
    const [event] = await shop.events(providerId, 'payment.succeeded');
    for (let time = 1; time <= 3; time++) {
      await shop.sandbox('POST', '/v1/webhooks/resend', { eventId: event?.id });
      await shop.untilDelivered(providerId, 'payment.succeeded');
    }
    await shop.untilSound();
    expect(await shop.orderStatus(orderId)).toBe('paid');
    expect(await shop.refundsOf(orderId)).toEqual([]);
  });

  it('keeps the order behind the fence only as long as the provider takes', async () => {
    await shop.faults({ dropWebhooks: true });
    const { orderId, providerId } = await shop.placeWithPayment();
    await shop.passDeadline([orderId]);
    await shop.untilOrder(orderId, 'closed');
    const [payment] = (await shop.ledger()).filter(({ id }) => id === providerId);
    expect(payment?.status).toBe('closed');
    const [history] = await shop.sql.rows<{ path: string }>(
      `SELECT string_agg(to_status, ' ' ORDER BY version) AS path FROM order_events
        WHERE order_id = $1`,
      [orderId],
    );
    expect(history?.path).toBe('pending_payment closing closed');
    await shop.untilSound();
  });
});
