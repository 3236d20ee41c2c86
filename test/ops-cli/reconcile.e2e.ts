import { CLI_TEST_TIMEOUT_MS } from '../support/cli-world';
import { endHost, lastcall, lastcallJson } from '../support/lastcall';
import { type StartedShop, startShop } from '../support/shop';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

/** The sandbox is compared, and Stripe, behind it, is away. */
const AWAY = {
  ...{ PAYMENT_PROVIDERS: 'sandbox,stripe', STRIPE_API_URL: 'http://127.0.0.1:9' },
  ...{
    STRIPE_SECRET_KEY: 'sk_test_local',
    STRIPE_WEBHOOK_SECRET: 'whsec_of_the_local_shop_at_the_local_server',
  },
  STRIPE_RETURN_URL: 'https://shop.test/thanks',
};
const FIX = ['--fix', '--reason', 'case 9', '--actor', 'olga'];

describe('lastcall reconcile, where the ledger of one provider cannot be read', () => {
  let shop: StartedShop;
  beforeAll(async () => {
    shop = await startShop({ ...AWAY, ROLES: 'api' });
    await shop.sandbox('PUT', '/v1/webhooks/endpoint', { url: 'http://127.0.0.1:9/nowhere' });
  });
  afterAll(async () => {
    await endHost();
    await shop?.close();
  });

  /** An order of which nobody tells us that it is paid. */
  async function paidUnheard(): Promise<string> {
    const { id } = await shop.place();
    const payment = await shop.api<{ providerPaymentId: string }>(
      ...(['POST', `/v1/orders/${id}/payments`, { provider: 'sandbox' }] as const),
    );
    await shop.buyerPays(payment.providerPaymentId);
    return id;
  }
  const compare = (...more: readonly string[]) => ['reconcile', '--since', '1h', ...more];

  it('tells what the others have shown, and what of it was settled, before it fails', async () => {
    const orderId = await paidUnheard();
    const found = await lastcall(shop.app.config, compare(), { env: AWAY });
    expect(found.code).toBe(6);
    expect(found.stdout).toMatch(new RegExp(`payment status .*${orderId}.* fixable`));
    expect(found.stderr).toContain('The ledger of stripe could not be read');
    const settled = await lastcall(shop.app.config, compare(...FIX), { env: AWAY });
    expect(settled.code).toBe(6);
    expect(settled.stdout).toMatch(new RegExp(`payment status .*${orderId}.* settled`));
    expect(await shop.orderStatus(orderId)).toBe('paid');
  });

  it('tells it in JSON, too', async () => {
    const orderId = await paidUnheard();
    const { code, result } = await lastcallJson(shop.app.config, compare(), { env: AWAY });
    expect({ code, result }).toMatchObject({
      code: 6,
      result: { error: { code: 'provider_error', fields: { found: [{ orderId }] } } },
    });
  });
});
