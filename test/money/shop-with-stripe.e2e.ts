import { type PaymentView } from '@app/orders';
import type Stripe from 'stripe';
import { startTestApp, type TestApp } from '../support/app';
import { TEST_SKU } from '../support/insert-orders';
import { Shop, BY_HAND } from '../support/shop';
import {
  startStripe,
  type StripeStandIn,
  STRIPE_WEBHOOK_SECRET,
} from '../support/stripe/start-stripe';

/** Of a create call: ours and, on a connection that breaks, the SDK's. */
const ALL_TRIES = 4;

/** Stripe pays out; whoever tries the sandbox beside it must not get far. */
const SETTINGS = {
  ...BY_HAND,
  PAYMENT_PROVIDERS: 'stripe,sandbox',
  STRIPE_SECRET_KEY: 'sk_test_local',
  STRIPE_WEBHOOK_SECRET,
  STRIPE_RETURN_URL: 'https://shop.test/thanks',
  RETURN_URLS: 'https://shop.test/checkout',
};

describe('a shop with PAYMENT_PROVIDERS=stripe,sandbox', () => {
  let stripe: StripeStandIn;
  let app: TestApp;
  let shop: Shop;

  beforeAll(async () => {
    stripe = await startStripe();
    app = await startTestApp({ settings: { ...SETTINGS, STRIPE_API_URL: stripe.url } });
    await stripe.postEventsTo(`${app.baseUrl}/v1/webhooks/stripe`);
    shop = new Shop(app.baseUrl, '', app);
  });
  afterAll(async () => {
    await app?.close();
    await stripe?.stop();
  });

  const pay = async (orderId: string, body: object = {}, key?: string) =>
    app.request<PaymentView & { code?: string }>(`POST /v1/orders/${orderId}/payments`, {
      token: await app.token(),
      body,
      headers: key ? { 'idempotency-key': key } : {},
    });
  const paymentsOf = (orderId: string) =>
    app.rows<{ id: string; status: string; failure: string | null }>(
      'SELECT id, status, failure FROM payments WHERE order_id = $1 ORDER BY id',
      [orderId],
    );
  const sell = (sku: string, currency: string, price: number) =>
    app.rows(
      `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
       VALUES ($1, $1, $2, $3, 1000, 1000)`,
      [sku, price, currency],
    );
  const order = async (sku: string): Promise<{ id: string; status: string }> =>
    shop.api('POST', '/v1/orders', { items: [{ sku, quantity: 1 }] }, { 'idempotency-key': sku });

  it('is paid by a webhook', async () => {
    const { orderId, providerId } = await shop.placeWithPayment();
    await stripe.pay(providerId);
    await shop.untilOrder(orderId, 'paid');
  });

  it('expires the session when an order is closed, though Stripe would keep it for half an hour', async () => {
    const { orderId, providerId } = await shop.placeAndCancel();
    const { sessions } = await stripe.state();
    expect(sessions.find(({ id }) => id === providerId)).toMatchObject({ status: 'expired' });
    expect(await shop.orderStatus(orderId)).toBe('closed');
  });

  it('answers with the payment that is open, and with the same one for the same key', async () => {
    const { id } = await shop.place();
    const [first, second] = [await pay(id, {}, 'k1'), await pay(id, {}, 'k2')];
    expect(second.body.id).toBe(first.body.id);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    await app.rows(`UPDATE payments SET status = 'failed' WHERE id = $1`, [first.body.id]);
    // What the key started is over; another key starts another one.
    const again = await pay(id, {}, 'k2');
    expect(again.body).toMatchObject({ id: first.body.id, status: 'failed' });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const other = await pay(id, {}, 'k3');
    expect(other.body.id).not.toBe(first.body.id);
    expect((await pay(id, { provider: 'stripe' }, 'k3')).body.code).toBe('idempotency_key_reused');
  });

  it('sends the buyer to another session where the first has ended after its day, and nobody has told', async () => {
    const { id } = await shop.place();
    const first = await pay(id);
    await app.rows(`UPDATE payments SET created_at = created_at - interval '1 day' WHERE id = $1`, [
      first.body.id,
    ]);
    expect((await pay(id)).body.id).toBe(first.body.id);
    await stripe.postEventsTo('http://127.0.0.1:9/');
    const ended = `${stripe.url}/v1/checkout/sessions/${first.body.providerPaymentId}/expire`;
    const authorization = `Bearer ${SETTINGS.STRIPE_SECRET_KEY}`;
    await fetch(ended, { method: 'POST', headers: { authorization } });
    await stripe.postEventsTo(`${app.baseUrl}/v1/webhooks/stripe`);
    const second = await pay(id);
    expect(second.body.id).not.toBe(first.body.id);
    expect(await paymentsOf(id)).toMatchObject([{ status: 'closed' }, { status: 'open' }]);
  });

  it('shows the buyer the lines of the order, and tells the ways back apart', async () => {
    const order = await shop.place(3);
    const returnUrl = 'https://shop.test/checkout/7?lang=en';
    const { body } = await pay(order.id, { returnUrl }, 'with-lines');
    const [row] = await app.rows<{ request: { params: Stripe.Checkout.SessionCreateParams } }>(
      'SELECT request FROM payments WHERE id = $1',
      [body.id],
    );
    const { line_items, success_url, cancel_url } = row?.request.params ?? {};
    const unit_amount = order.amount / 3;
    const price_data = { currency: 'eur', unit_amount, product_data: { name: TEST_SKU } };
    expect(line_items).toEqual([{ quantity: 3, price_data }]);
    const ids = `order=${order.id}&payment=${body.id}`;
    expect([success_url, cancel_url]).toEqual([
      `${returnUrl}&${ids}&result=success`,
      `${returnUrl}&${ids}&result=cancel`,
    ]);
    const { sessions } = await stripe.state();
    expect(sessions.find(({ id }) => id === body.providerPaymentId)).toMatchObject({
      amount_total: order.amount,
    });
    const other = await pay(order.id, { returnUrl: `${returnUrl}&x=1` }, 'with-lines');
    expect(other.body.code).toBe('idempotency_key_reused');
  });

  it('sends buyers to no page but those of the shop', async () => {
    const { id } = await shop.place();
    for (const returnUrl of ['https://evil.example/checkout', 'https://shop.test/account']) {
      const refused = await pay(id, { returnUrl });
      expect([refused.status, refused.body.code]).toEqual([422, 'return_url_not_allowed']);
    }
    const nonsense = await pay(id, { returnUrl: 'javascript:alert(1)' });
    expect([nonsense.status, nonsense.body.code]).toEqual([400, 'invalid_request']);
    expect(await paymentsOf(id)).toEqual([]);
  });

  it('opens one payment when a buyer asks fifty times at once', async () => {
    const { id } = await shop.place();
    const answers = await Promise.all(Array.from({ length: 50 }, () => pay(id)));
    const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body.id);
    expect(new Set(ids).size).toBe(1);
    expect(await paymentsOf(id)).toHaveLength(1);
  });

  it('goes on with the same payment after the answer to its call was lost', async () => {
    const { id } = await shop.place();
    await stripe.lose(ALL_TRIES);
    expect(await pay(id)).toMatchObject({ status: 502, body: { code: 'provider_error' } });
    const second = await pay(id);
    expect(second.status).toBe(201);
    expect(await paymentsOf(id)).toHaveLength(1);
    const { sessions } = await stripe.state();
    expect(sessions.filter((one) => one.client_reference_id === second.body.id)).toHaveLength(1);
  });

  it('closes an order whose create call was lost, and leaves nothing open', async () => {
    const { id } = await shop.place();
    await stripe.lose(ALL_TRIES);
    await pay(id);
    await shop.api('POST', `/v1/orders/${id}/cancel`);
    await shop.untilOrder(id, 'closed');
    const { sessions } = await stripe.state();
    const [payment] = await paymentsOf(id);
    expect(payment).toMatchObject({ status: 'closed', failure: null });
    expect(sessions.filter((one) => one.client_reference_id === payment?.id)).toMatchObject([
      { status: 'expired' },
    ]);
  });

  it('takes a choice of provider, and no name that it does not know', async () => {
    const { id } = await shop.place();
    expect((await pay(id, { provider: 'stripe' })).body.provider).toBe('stripe');
    expect(await pay(id, { provider: 'acme' })).toMatchObject({
      status: 422,
      body: { code: 'provider_not_available', providers: ['stripe', 'sandbox'] },
    });
    expect((await pay(id, { provider: 7 })).status).toBe(400);
  });

  it('says what is too little to be charged, before any call', async () => {
    await sell('FILS', 'KWD', 1_234);
    const uneven = await order('FILS');
    expect((await pay(uneven.id)).body.code).toBe('amount_not_chargeable');
    await sell('PENNY', 'EUR', 10);
    const { id } = await order('PENNY');
    const before = (await stripe.state()).calls.length;
    expect(await pay(id)).toMatchObject({
      status: 422,
      body: { code: 'amount_too_small', minimum: 50, currency: 'EUR' },
    });
    expect((await stripe.state()).calls).toHaveLength(before);
    expect(await paymentsOf(id)).toEqual([]);
  });

  it('refuses to send back what Stripe would not, before anything is written', async () => {
    await sell('DINAR', 'KWD', 5_120);
    const { id } = await order('DINAR');
    const { body: payment } = await pay(id);
    await stripe.pay(payment.providerPaymentId ?? '');
    await shop.untilOrder(id, 'paid');
    const back = async (amount: number) =>
      app.request(`POST /v1/ops/orders/${id}/refunds`, {
        token: await app.token({ scope: 'ops:write' }),
        body: { amount, reason: 'case 9' },
      });
    expect(await back(1_235)).toMatchObject({
      status: 422,
      body: { code: 'amount_not_chargeable', currency: 'KWD', step: 10 },
    });
    const ofPayment = 'SELECT id FROM refunds WHERE payment_id = $1';
    expect(await app.rows(ofPayment, [payment.id])).toEqual([]);
    expect(await back(1_230)).toMatchObject({ status: 201 });
  });

  it('gives away what is free in whatever currency, and starts with it', async () => {
    await sell('GIFT', 'XTS', 0);
    expect(await order('GIFT')).toMatchObject({ status: 'paid' });
    const beside = await startTestApp({
      settings: { ...SETTINGS, STRIPE_API_URL: stripe.url },
      beside: app,
    });
    await beside.close();
    await sell('XTS', 'XTS', 500);
    await expect(
      startTestApp({ settings: { ...SETTINGS, STRIPE_API_URL: stripe.url }, beside: app }),
    ).rejects.toThrow(/stripe takes no payments in XTS \(1 products\)/);
    await app.rows(`DELETE FROM products WHERE sku = 'XTS'`);
  });

  it('does not start without the provider that its payments belong to', async () => {
    await expect(
      startTestApp({ settings: { ...BY_HAND, PAYMENT_PROVIDERS: 'sandbox' }, beside: app }),
    ).rejects.toThrow(/stripe: \d+ open payments.*Set PAYMENT_PROVIDERS=sandbox,stripe/s);
  });

  it('goes on serving others after ten refused payments', async () => {
    for (let i = 0; i < 12; i++) {
      const refused = await shop.place();
      // Stripe would refuse it; our own plan is made to let it pass.
      await app.rows(`UPDATE orders SET currency = 'GHS' WHERE id = $1`, [refused.id]);
      expect(await pay(refused.id)).toMatchObject({
        status: 422,
        body: { code: 'payment_refused' },
      });
      expect(await paymentsOf(refused.id)).toMatchObject([
        { status: 'failed', failure: expect.stringContaining('Invalid currency') },
      ]);
      await app.rows(`UPDATE orders SET currency = 'EUR' WHERE id = $1`, [refused.id]);
      // Nothing is open anywhere: it closes at once.
      expect(await shop.api('POST', `/v1/orders/${refused.id}/cancel`)).toMatchObject({
        status: 'closed',
      });
    }
    expect((await pay((await shop.place()).id)).status).toBe(201);
  });
});
