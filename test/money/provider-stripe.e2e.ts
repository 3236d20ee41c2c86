import { describeProvider } from '../../libs/orders/src/providers/provider.contract';
import { StripeProvider } from '../../libs/orders/src/providers/stripe.provider';
import { Shop, SHORT } from '../support/shop';
import { startTestApp, type TestApp } from '../support/app';
import { STRIPE_WEBHOOK_SECRET, StripeServer } from '../support/stripe-server';
import { until } from '../support/until';

const SECRETS = { secretKey: 'sk_test_local', webhookSecret: STRIPE_WEBHOOK_SECRET };
const NOBODY = 'http://127.0.0.1:9';
const returnUrl = 'https://shop.test/thanks';

describeProvider('Stripe', async () => {
  const server = new StripeServer();
  const apiUrl = await server.start();
  return {
    provider: new StripeProvider({ ...SECRETS, apiUrl, returnUrl }),
    unreachable: new StripeProvider({ ...SECRETS, apiUrl: NOBODY, returnUrl }),
    buyerPays: async (id) => server.pay(id),
    failRefunds: async (fail) => void (server.failRefunds = fail),
    webhook: (matches) =>
      until('the webhook', () => server.events.find(({ rawBody }) => matches(rawBody.toString()))),
    close: () => server.stop(),
  };
});

describe('a shop with PAYMENT_PROVIDER=stripe', () => {
  const server = new StripeServer();
  let app: TestApp;
  let shop: Shop;

  beforeAll(async () => {
    app = await startTestApp({
      settings: {
        ...SHORT,
        PAYMENT_WINDOW: '10m',
        PAYMENT_PROVIDER: 'stripe',
        STRIPE_SECRET_KEY: SECRETS.secretKey,
        STRIPE_WEBHOOK_SECRET: SECRETS.webhookSecret,
        STRIPE_API_URL: await server.start(),
        STRIPE_RETURN_URL: returnUrl,
      },
    });
    server.endpoint = `${app.baseUrl}/v1/webhooks/stripe`;
    shop = new Shop(app.baseUrl, '', app);
  });
  afterAll(async () => {
    await app?.close();
    await server.stop();
  });

  it('is paid by a webhook', async () => {
    const { orderId, providerId } = await shop.placeWithPayment();
    server.pay(providerId);
    await shop.untilOrder(orderId, 'paid');
  });

  it('expires the session when an order is closed, though Stripe would keep it for half an hour', async () => {
    const { orderId, providerId } = await shop.placeAndCancel();
    expect(server.sessions.get(providerId)?.status).toBe('expired');
    expect(await shop.orderStatus(orderId)).toBe('closed');
  });

  it('refunds what was paid all the same', async () => {
    const { orderId, providerId } = await shop.placeAndCancel();
    server.pay(providerId);
    await shop.untilRefunded(orderId);
    expect(server.refunds).toMatchObject([{ amount: 500, status: 'succeeded' }]);
  });
});
