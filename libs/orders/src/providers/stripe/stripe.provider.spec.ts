import Stripe from 'stripe';
import { uuidv7 } from '../../order/uuid';
import { StripeProvider } from './stripe.provider';

const secret = 'whsec_secret';
const [installation, paymentId] = [uuidv7(), uuidv7()];

/** Asks nobody: what would be looked up rejects. */
const connect = (secretKey: string): StripeProvider =>
  new StripeProvider({
    ...{ secretKey, webhookSecret: secret, installation },
    apiUrl: 'http://127.0.0.1:9',
    returnUrl: 'https://shop.example/thanks',
  });
const tell = (secretKey: string, event: object) => {
  const payload = JSON.stringify({
    id: 'evt_1',
    object: 'event',
    created: 1_777_000_000,
    ...event,
  });
  const signature = new Stripe(secretKey).webhooks.generateTestHeaderString({ payload, secret });
  const headers = { 'stripe-signature': signature };
  return connect(secretKey).readWebhook(Buffer.from(payload), headers, new Date());
};
const paymentOf = (reference: string, of = reference) => ({
  type: 'checkout.session.completed',
  data: {
    object: {
      ...{ id: 'cs_1', object: 'checkout.session', client_reference_id: reference },
      ...{ amount_total: 1_999, currency: 'eur', payment_status: 'paid' },
      metadata: { lastcall_payment: of, lastcall_installation: installation },
    },
  },
});
const paid = paymentOf(paymentId);
const dispute = { id: 'du_1', object: 'dispute', status: 'lost', payment_intent: 'pi_1' };
const disputed = { type: 'charge.dispute.closed', data: { object: dispute } };

describe('StripeProvider', () => {
  it('reads of the mode of its key', () => {
    expect(tell('sk_live_key', { ...paid, livemode: true })).toMatchObject({
      type: 'payment.succeeded',
    });
    expect(tell('sk_test_key', { ...paid, livemode: false })).toMatchObject({
      type: 'payment.succeeded',
    });
  });

  it('knows payments by whatever ids a shop gives to its own', () => {
    const live = { livemode: true };
    expect(tell('sk_live_key', { ...paymentOf('p-812'), ...live })).toMatchObject({
      ...{ type: 'payment.succeeded', paymentId: 'p-812', providerPaymentId: 'cs_1' },
    });
    expect(tell('sk_live_key', { ...paymentOf('p-812', 'p-813'), ...live })).toMatchObject({
      type: 'ignored',
    });
  });

  it.each([paid, disputed])('takes no money of test cards beside a live key: $type', (event) => {
    expect(tell('sk_live_key', { ...event, livemode: false })).toEqual({
      ...{ eventId: 'evt_1', type: 'ignored', providerType: event.type },
    });
  });

  it.each([paid, disputed])('takes no money of connected accounts for its own: $type', (event) => {
    expect(tell('sk_live_key', { ...event, livemode: true, account: 'acct_1' })).toEqual({
      ...{ eventId: 'evt_1', type: 'ignored', providerType: event.type },
    });
  });
});
