import Stripe from 'stripe';
import { verifyEvent } from './stripe-webhook';

const stripe = new Stripe('sk_test_key');
const secret = 'whsec_secret';
const now = new Date('2026-05-01T10:00:00Z');

const verify = (payload: string) => {
  const timestamp = now.getTime() / 1_000;
  const signature = stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
  return verifyEvent(stripe, { rawBody: Buffer.from(payload), signature, secret }, now);
};

describe('verifyEvent', () => {
  it('answers with the event', () => {
    const event = { id: 'evt_1', type: 'refund.failed', data: { object: {} } };
    expect(verify(JSON.stringify(event))).toEqual(event);
    const thin = { id: 'evt_1', type: 'v1.account.updated' };
    expect(verify(JSON.stringify(thin))).toEqual(thin);
    const thinner = { ...thin, object: 'v2.core.event', related_object: { id: 'acct_1' } };
    expect(verify(JSON.stringify(thinner))).toEqual(thinner);
  });

  it('refuses a thin event of what it reads: whoever set it up has to hear that', () => {
    const thin = { id: 'evt_1', object: 'v2.core.event', type: 'v1.refund.failed' };
    expect(() => verify(JSON.stringify(thin))).toThrow(
      /is thin: a snapshot is what has to be sent/,
    );
  });

  it.each([
    ...['null', '[]', '7', '"evt_1"', '{}', '{', ''],
    '{"id":"evt_1","type":"refund.failed"}',
    '{"id":"evt_1","type":"refund.failed","data":{"object":null}}',
    '{"id":7,"type":"ping","data":{"object":{}}}',
    '{"id":"evt_1","data":{"object":{}}}',
  ])('refuses what is signed and not an event: %s', (payload) => {
    expect(() => verify(payload)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});
