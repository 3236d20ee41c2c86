import { uuidv7 } from '../../libs/orders/src/order/uuid';
import { StripeProvider } from '../../libs/orders/src/providers/stripe/stripe.provider';
import {
  startStripe,
  type StripeStandIn,
  STRIPE_WEBHOOK_SECRET,
} from '../support/stripe/start-stripe';
import { until } from '../support/until';

const INSTALLATION = uuidv7();
/** Of a call that makes a refund, by the SDK. */
const ALL_TRIES = 2;

let stripe: StripeStandIn;
beforeEach(async () => (stripe = await startStripe()));
afterEach(() => stripe.stop());

const connect = (apiUrl = stripe.url): StripeProvider =>
  new StripeProvider({
    ...{ secretKey: 'sk_test_local', webhookSecret: STRIPE_WEBHOOK_SECRET, apiUrl },
    ...{ returnUrl: 'https://shop.test/thanks', installation: INSTALLATION },
  });

/** A refund that was made, and nobody knows: what was asked for. */
async function unanswered() {
  const provider = connect();
  const now = new Date();
  const expiresAt = new Date(now.getTime() + 600_000);
  const given = { paymentId: uuidv7(), amount: 1_999, currency: 'EUR', expiresAt };
  const request = provider.planPayment({ ...given, now });
  const opened = await provider.createPayment({ ...given, providerPaymentId: null, request });
  if (opened.state !== 'CREATED') throw new Error(`${opened.state}: ${opened.why}`);
  const { providerPaymentId } = opened;
  await stripe.pay(providerPaymentId);
  const asked = { ...given, providerPaymentId, amount: 300, idempotencyKey: uuidv7() };
  await stripe.lose(ALL_TRIES);
  expect(await provider.refund(asked)).toMatchObject({ state: 'UNKNOWN' });
  return { asked, next: { ...asked, idempotencyKey: `${asked.idempotencyKey}-2` } };
}

const made = async () => (await stripe.state()).refunds;

describe('a refund by Stripe whose answer was lost', () => {
  it('has not failed where it cannot be looked for, as with the key of another mode', async () => {
    const { asked } = await unanswered();
    const otherMode = await startStripe();
    expect(await connect(otherMode.url).refund(asked)).toMatchObject({
      ...{ state: 'UNKNOWN', why: expect.stringContaining('No such checkout.session') },
    });
    await otherMode.stop();
  });

  it('is found by its next attempt, which makes no other one', async () => {
    const { next } = await unanswered();
    const [{ id } = { id: '' }] = await made();
    expect(await connect().refund(next)).toEqual({ state: 'SUCCEEDED', providerRefundId: id });
    expect(await made()).toHaveLength(1);
  });

  it('is made by its next attempt where it has failed', async () => {
    await stripe.failRefunds(true);
    const { asked, next } = await unanswered();
    await until('it has failed', async () => (await made())[0]?.status === 'failed');
    await stripe.failRefunds(false);
    expect(await connect().refund(asked)).toMatchObject({ state: 'FAILED' });
    expect(await connect().refund(next)).toMatchObject({ state: 'PENDING' });
    expect(await made()).toHaveLength(2);
  });

  it('has failed where Stripe refuses to make it', async () => {
    const { asked } = await unanswered();
    const refused = { ...asked, amount: 5_000, idempotencyKey: uuidv7() };
    expect(await connect().refund(refused)).toMatchObject({
      ...{ state: 'FAILED', providerRefundId: null },
      why: expect.stringContaining('greater than unrefunded amount'),
    });
  });
});
