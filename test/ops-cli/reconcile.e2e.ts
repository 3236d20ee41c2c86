import { CLI_TEST_TIMEOUT_MS } from '../support/cli-world';
import { endHost, lastcall, lastcallJson, operatorNamed } from '../support/lastcall';
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

/** An order of which nobody tells the shop that it is paid. */
async function paidUnheard(shop: StartedShop): Promise<string> {
  const { id } = await shop.place();
  const payment = await shop.api<{ providerPaymentId: string }>(
    ...(['POST', `/v1/orders/${id}/payments`, { provider: 'sandbox' }] as const),
  );
  await shop.buyerPays(payment.providerPaymentId);
  return id;
}
const compare = (...more: readonly string[]) => ['reconcile', '--since', '1h', ...more];

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

  it('tells what the others have shown, and what of it was settled, before it fails', async () => {
    const orderId = await paidUnheard(shop);
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
    const orderId = await paidUnheard(shop);
    const { code, result } = await lastcallJson(shop.app.config, compare(), { env: AWAY });
    expect({ code, result }).toMatchObject({
      code: 6,
      result: { error: { code: 'provider_error', fields: { found: [{ orderId }] } } },
    });
  });
});

describe('lastcall reconcile', () => {
  let shop: StartedShop;
  beforeAll(async () => {
    shop = await startShop({ ROLES: 'api' });
    await shop.sandbox('PUT', '/v1/webhooks/endpoint', { url: 'http://127.0.0.1:9/nowhere' });
  });
  afterAll(async () => {
    await endHost();
    await shop?.close();
  });

  const run = (...args: string[]) =>
    lastcallJson<{ runId: string; id: string }>(shop.app.config, args);
  const close = (...args: string[]) =>
    run('reconcile', 'close', ...args, '--reason', 'case 21', '--actor', 'olga');

  it('is done with what an operator has closed, and with nothing else', async () => {
    await paidUnheard(shop);
    const first = await run(...compare());
    expect(first).toMatchObject({ code: 7, result: { differences: 1, fixed: 0, closed: 0 } });
    expect(first.stderr).toContain('Next: lastcall reconcile --since ');
    // Not the newest, which is closed where none is named.
    expect((await run(...compare())).code).toBe(7);
    const closed = { code: 0, result: { id: first.result.runId, differences: 1 } };
    expect(await close(first.result.runId)).toEqual(expect.objectContaining(closed));
    expect(await run(...compare())).toMatchObject({
      code: 0,
      result: { differences: 1, closed: 1 },
    });
    await paidUnheard(shop);
    const second = await run(...compare());
    expect(second).toMatchObject({ code: 7, result: { differences: 2, closed: 1 } });
    expect(await close()).toMatchObject({ code: 0, result: { id: second.result.runId } });
    expect((await run(...compare())).code).toBe(0);
    const actions = `SELECT action, actor, reason FROM operator_actions WHERE action LIKE 'reconcile%'`;
    const action = { action: 'reconcile.close', actor: operatorNamed('olga'), reason: 'case 21' };
    expect(await shop.app.rows(actions)).toEqual([action, action]);
  });
});
