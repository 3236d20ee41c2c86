import { uuidv7 } from '../../libs/orders/src/order/uuid';
import { StripeProvider } from '../../libs/orders/src/providers/stripe/stripe.provider';
import {
  startStripe,
  type StripeStandIn,
  STRIPE_WEBHOOK_SECRET,
} from '../support/stripe/start-stripe';

const INSTALLATION = uuidv7();
const WEEK_S = 7 * 86_400;

let stripe: StripeStandIn;
beforeEach(async () => (stripe = await startStripe()));
afterEach(() => stripe.stop());

const connect = (installation = INSTALLATION): StripeProvider =>
  new StripeProvider({
    ...{ secretKey: 'sk_test_local', webhookSecret: STRIPE_WEBHOOK_SECRET, apiUrl: stripe.url },
    ...{ returnUrl: 'https://shop.test/thanks', installation },
  });

/** The session of a payment of this installation. */
async function opened(installation = INSTALLATION): Promise<string> {
  const provider = connect(installation);
  const now = new Date();
  const expiresAt = new Date(now.getTime() + 600_000);
  const given = { paymentId: uuidv7(), amount: 1_999, currency: 'EUR', expiresAt };
  const request = provider.planPayment({ ...given, now });
  const answer = await provider.createPayment({ ...given, providerPaymentId: null, request });
  if (answer.state !== 'CREATED') throw new Error(`${answer.state}: ${answer.why}`);
  return answer.providerPaymentId;
}

/** The ledger of the last week: whose payments are in it, and which sessions were asked for, one by one. */
async function read(): Promise<{ lines: string[]; fetched: string[] }> {
  const before = (await stripe.state()).calls.length;
  const lines: string[] = [];
  for await (const page of connect().ledger(new Date(Date.now() - WEEK_S * 1_000), null)) {
    lines.push(...page.payments.map(({ providerPaymentId }) => providerPaymentId));
  }
  const { calls } = await stripe.state();
  const one = 'GET /v1/checkout/sessions/';
  const fetched = calls.slice(before).filter((call) => call.startsWith(one));
  return { lines, fetched: fetched.map((call) => call.slice(one.length)) };
}

it('waits longer for a page than for an answer that a buyer waits for', async () => {
  const id = await opened();
  await stripe.slowDown(4_500);
  let first: unknown;
  for await (const { payments } of connect().ledger(new Date(0), null)) {
    first = payments;
    break;
  }
  expect(first).toMatchObject([{ providerPaymentId: id }]);
});

describe("Stripe's ledger, where events tell of sessions", () => {
  it('asks for none that its list of sessions has shown', async () => {
    const ids = [await opened(), await opened(), await opened()];
    for (const id of ids) await stripe.pay(id);
    const { lines, fetched } = await read();
    expect(lines.toSorted()).toEqual(ids.toSorted());
    expect(fetched).toEqual([]);
  });

  it('asks for those that were made before and paid since, and for none of others', async () => {
    const [ours, others] = [await opened(), await opened(uuidv7())];
    await stripe.age(WEEK_S + 86_400);
    for (const id of [ours, others]) await stripe.pay(id);
    expect(await read()).toEqual({ lines: [ours], fetched: [ours] });
  });
});
