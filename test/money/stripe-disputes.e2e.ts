import { Reconcile } from '@app/orders';
import { startTestApp, type TestApp } from '../support/app';
import { BY_HAND, Shop } from '../support/shop';
import {
  startStripe,
  type StripeStandIn,
  STRIPE_WEBHOOK_SECRET,
} from '../support/stripe/start-stripe';
import { until } from '../support/until';

let stripe: StripeStandIn;
let app: TestApp;
let shop: Shop;
beforeAll(async () => {
  stripe = await startStripe();
  app = await startTestApp({
    settings: {
      ...BY_HAND,
      ...{ PAYMENT_PROVIDERS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_local', STRIPE_WEBHOOK_SECRET },
      ...{ STRIPE_RETURN_URL: 'https://shop.test/thanks', STRIPE_API_URL: stripe.url },
    },
  });
  shop = new Shop(app.baseUrl, '', app);
});
afterAll(async () => {
  await app?.close();
  await stripe?.stop();
});
beforeEach(() => stripe.postEventsTo(`${app.baseUrl}/v1/webhooks/stripe`));

/** All that has happened there is told and applied. */
const heard = () =>
  until('all is heard', async () => {
    const { events } = await stripe.state();
    const last = (JSON.parse(events.at(-1)?.body ?? '{}') as { id?: string }).id;
    const [row] = await app.rows<{ result: string }>(
      `SELECT result FROM webhook_events WHERE event_id = $1 AND status = 'processed'`,
      [last],
    );
    return row?.result;
  });

/** A paid order whose money the buyer's bank has. */
async function disputed() {
  const { orderId, paymentId, providerId } = await shop.placeWithPayment();
  const session = await stripe.pay(providerId);
  await shop.untilOrder(orderId, 'paid');
  const { id: disputeId } = await stripe.dispute(providerId);
  await heard();
  return { orderId, paymentId, disputeId, amount: session?.amount_total ?? 0 };
}

/** Sends back what the order holds, unless that is not known yet. */
const cancel = async (orderId: string) =>
  app.request(`POST /v1/ops/orders/${orderId}/cancel`, {
    token: await app.token({ scope: 'ops:write' }),
    body: { reason: 'case 9' },
  });
const REFUSED = { status: 409, body: { why: 'disputed' } };

/** What goes back to the customer, or has gone back. */
async function sentBack(paymentId: string): Promise<number> {
  const [row] = await app.rows<{ sum: number }>(
    `SELECT coalesce(sum(amount), 0)::int AS sum FROM refunds
      WHERE payment_id = $1 AND status <> 'canceled'`,
    [paymentId],
  );
  return row?.sum ?? -1;
}

const reconcile = () =>
  app.app.get(Reconcile).run({
    since: new Date(Date.now() - 3_600_000),
    fixFor: { actor: 'olga', reason: 'case 9' },
    onDifference: () => undefined,
  });

describe('a dispute that is won', () => {
  it.each([
    ['all', 1],
    ['a part', 0.4],
  ])('ends as its money comes back, %s of it, and not before', async (_, share) => {
    const { orderId, paymentId, disputeId, amount } = await disputed();
    await stripe.settleDispute(disputeId, true);
    expect(await heard()).toBe('known');
    expect(await cancel(orderId)).toMatchObject(REFUSED);
    await stripe.reinstate(disputeId, amount * share);
    expect(await heard()).toBe('recorded');
    expect(await cancel(orderId)).toMatchObject({ body: { status: 'canceled' } });
    expect(await sentBack(paymentId)).toBe(amount * share);
  });

  it('ends the same where the money is told of before its end', async () => {
    const { orderId, paymentId, disputeId, amount } = await disputed();
    await stripe.reinstate(disputeId, amount * 0.4);
    await heard();
    expect(await cancel(orderId)).toMatchObject(REFUSED);
    await stripe.settleDispute(disputeId, true);
    await heard();
    await cancel(orderId);
    expect(await sentBack(paymentId)).toBe(amount * 0.4);
  });

  it('ends by reconciling where nobody tells that its money has come back', async () => {
    const { orderId, paymentId, disputeId, amount } = await disputed();
    await stripe.settleDispute(disputeId, true);
    await heard();
    await stripe.postEventsTo('http://127.0.0.1:9');
    await stripe.reinstate(disputeId, amount * 0.4);
    await reconcile();
    await cancel(orderId);
    expect(await sentBack(paymentId)).toBe(amount * 0.4);
    // Nobody tells of the refund either: while it is on its way, the ledger knows more than our books.
    await shop.untilRefunded(orderId);
    expect(await reconcile()).toMatchObject({ differences: 0 });
  });
});
