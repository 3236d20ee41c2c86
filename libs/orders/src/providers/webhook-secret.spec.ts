import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { signedHeaders, signingKey } from '../../../../apps/sandbox/src/webhook-signature';
import { verifyStandardWebhook } from './standard-webhook';
import { stripeWeaknessOf, weaknessOf } from '../settings/webhook-secret';

const body = '{"type":"payment.succeeded","data":{"word":"Grüße"}}';
const newSecret = (bytes = 32): string => `whsec_${randomBytes(bytes).toString('base64')}`;

describe('the official Standard Webhooks library, as the referee', () => {
  // Without the prefix too, which the library reads as base64 all the same.
  it.each([newSecret(24), newSecret(32), newSecret(64), newSecret().slice('whsec_'.length)])(
    'verifies what the sandbox signs',
    (secret) => {
      const headers = signedHeaders(signingKey(secret), 'evt_1', body, Date.now());
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
      expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow('signature');
    },
  );

  it.each([newSecret(24), newSecret(32), newSecret(64), newSecret().slice('whsec_'.length)])(
    'signs what we verify',
    (secret) => {
      const now = new Date();
      const signature = new Webhook(secret).sign('evt_1', now, body);
      const headers = {
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
        'webhook-signature': signature,
      };
      const verify = (by: readonly string[]) =>
        verifyStandardWebhook(Buffer.from(body), headers, now, by);
      expect(verify([secret])).toBe('evt_1');
      expect(verify([newSecret(), secret])).toBe('evt_1');
      expect(() => verify([newSecret()])).toThrow('no signature matches');
      const inMilliseconds = { ...headers, 'webhook-timestamp': String(now.getTime()) };
      const misread = () => verifyStandardWebhook(Buffer.from(body), inMilliseconds, now, [secret]);
      expect(misread).toThrow('webhook-timestamp is not in whole seconds since 1970');
    },
  );
});

describe('weak secrets', () => {
  it.each([
    'whsec_!!!!',
    'whsec_',
    '',
    'whsec_AAAA',
    `whsec_${randomBytes(23).toString('base64')}`,
    `whsec_${randomBytes(65).toString('base64')}`,
    `whsec_${Buffer.alloc(32).toString('base64')}`,
    `whsec_${Buffer.from('secretsecretsecretsecret').toString('base64')}`,
    `whsec_${randomBytes(32).toString('base64url')}-_`,
    `whsec_${randomBytes(32).toString('base64')} `,
    'a-webhook-secret-for-tests',
  ])('refuses %j, without repeating it', (secret) => {
    const weakness = weaknessOf(secret) ?? '';
    expect(weakness).toMatch(/^(must be base64|can be guessed)/);
    if (secret.length > 10) expect(weakness).not.toContain(secret.slice(6, 20));
  });

  it.each([
    'whsec_',
    'whsec_short',
    `sk_${'abcdefghijklmnopqrstuvwxyz'}`,
    `whsec_${'a'.repeat(32)}`,
  ])('refuses %j for Stripe', (secret) => expect(stripeWeaknessOf(secret)).toMatch(/Stripe shows/));
});
