import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Check, PaymentView } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { lastcallJson } from '../support/lastcall';
import { ownFolder } from '../support/own-folder';
import { Shop } from '../support/shop';
import {
  startStripe,
  type StripeStandIn,
  STRIPE_WEBHOOK_SECRET,
} from '../support/stripe/start-stripe';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const folder = ownFolder();
const WHO = ['--reason', 'case 17', '--actor', 'eve'];

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

/** The command has no secret of Stripe's: what Stripe refuses for certain is known without one. */
describe('lastcall beside a shop with Stripe', () => {
  let stripe: StripeStandIn;
  let world: CliWorld;
  let shop: Shop;

  const run = <Result>(...args: string[]) => lastcallJson<Result>(world.config, args);

  beforeAll(async () => {
    stripe = await startStripe();
    world = await startCliWorld({
      settings: {
        ...{ PAYMENT_PROVIDERS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_local' },
        ...{ STRIPE_WEBHOOK_SECRET, STRIPE_RETURN_URL: 'https://shop.test/thanks' },
        STRIPE_API_URL: stripe.url,
      },
    });
    await stripe.postEventsTo(`${world.baseUrl}/v1/webhooks/stripe`);
    shop = new Shop(world.baseUrl, '', world);
  });
  afterAll(async () => {
    await world?.close();
    await stripe?.stop();
  });

  /** An order of 10.000 KWD, of which Stripe takes no last digit but 0. */
  const paidInDinars = async (): Promise<string> => {
    await world.rows(
      `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
       VALUES ('DINAR', 'Dinar', 10000, 'KWD', 1000, 1000) ON CONFLICT (sku) DO NOTHING`,
    );
    const items = [{ sku: 'DINAR', quantity: 1 }];
    const key = { 'idempotency-key': 'dinar' };
    const { id } = await shop.api<{ id: string }>('POST', '/v1/orders', { items }, key);
    const payment = await shop.api<PaymentView>('POST', `/v1/orders/${id}/payments`);
    await stripe.pay(payment.providerPaymentId ?? '');
    await shop.untilOrder(id, 'paid');
    return id;
  };

  it('refuses to send back what Stripe would not, as the API does', async () => {
    const id = await paidInDinars();
    const back = (amount: number) =>
      run<Failure>('refunds', 'create', id, '--amount', String(amount), ...WHO, '--yes');
    expect(await back(1_235)).toMatchObject({
      code: 2,
      result: { error: { code: 'amount_not_chargeable' } },
    });
    expect(await shop.refundsOf(id)).toEqual([]);
    expect(await back(1_230)).toMatchObject({ code: 0 });
  });

  it('prices nothing in a currency that Stripe does not take, with which no process would start', async () => {
    const set = ['products', 'set', 'FLORIN', '--name', 'Florin', '--price', '500', ...WHO];
    const priced = await run<Failure>(...set, '--currency', 'XCG');
    const file = join(folder, 'products.csv');
    writeFileSync(file, 'sku,name,unitPrice,currency,stock\nGUILDER,Guilder,900,XCG,5\n');
    const taken = await run<Failure>('products', 'import', file, ...WHO, '--yes');
    expect([priced.code, taken.code]).toEqual([2, 2]);
    expect(priced.result.error.message).toContain('currency XCG is not one');
    const ofCurrency = `SELECT sku FROM products WHERE currency = 'XCG'`;
    expect(await world.rows(ofCurrency)).toEqual([]);
  });

  it('finds in doctor what is priced in such a currency all the same', async () => {
    await world.rows(
      `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
       VALUES ('FLORIN', 'Florin', 500, 'XCG', 1, 1)`,
    );
    const { result } = await run<{ checks: Check[] }>('doctor');
    expect(result.checks.find(({ name }) => name === 'currencies')).toMatchObject({
      state: 'finding',
      detail: 'stripe takes no payments in XCG (1 products)',
    });
  });
});
