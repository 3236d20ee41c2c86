import { networkInterfaces } from 'node:os';
import { readConfig } from './config';
import { signingKey } from './webhook-signature';

const SANDBOX_WEBHOOK_SECRET = 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=';

it('has a default for all but the secret', () => {
  expect(readConfig({ SANDBOX_WEBHOOK_SECRET, SANDBOX_DATA: '' })).toEqual({
    host: '127.0.0.1',
    port: 3001,
    webhookUrl: 'http://127.0.0.1:3000/v1/webhooks/sandbox',
    webhookSecret: SANDBOX_WEBHOOK_SECRET,
    dataFolder: null,
  });
});

it('takes what it is given', () => {
  const env = {
    SANDBOX_WEBHOOK_SECRET,
    SANDBOX_PORT: '0',
    SANDBOX_WEBHOOK_URL: 'https://shop/hooks',
    SANDBOX_DATA: 'data',
  };
  expect(readConfig(env)).toMatchObject({
    port: 0,
    webhookUrl: 'https://shop/hooks',
    dataFolder: 'data',
  });
});

it('sends webhooks to this machine by whichever of its addresses', () => {
  for (const { address, family } of Object.values(networkInterfaces()).flatMap(
    (own) => own ?? [],
  )) {
    const webhookUrl = `http://${family === 'IPv6' ? `[${address}]` : address}:3000/hooks`;
    const env = { SANDBOX_WEBHOOK_SECRET, SANDBOX_WEBHOOK_URL: webhookUrl };
    expect(readConfig(env)).toMatchObject({ webhookUrl });
  }
});

it.each([
  ['SANDBOX_PORT', '70000'],
  ['SANDBOX_PORT', '-1'],
  ['SANDBOX_PORT', 'http'],
  ['SANDBOX_WEBHOOK_URL', 'shop.example/hooks'],
  ['SANDBOX_WEBHOOK_URL', 'https://shop.example/hooks'],
  ['SANDBOX_WEBHOOK_URL', 'http://203.0.113.7/hooks'],
  ['SANDBOX_WEBHOOK_SECRET', ''],
  ['SANDBOX_WEBHOOK_SECRET', 'whsec_not base64'],
  ['SANDBOX_WEBHOOK_SECRET', 'whsec_!!!!'],
  ['SANDBOX_WEBHOOK_SECRET', 'whsec_c2hvcnQ='],
])('names %s when it is %j, without repeating it', (name, value) => {
  const read = (): unknown => readConfig({ SANDBOX_WEBHOOK_SECRET, [name]: value });
  expect(read).toThrow(new RegExp(`^${name} `));
  if (value !== '') expect(read).not.toThrow(value);
});

it('reads a secret the way Standard Webhooks writes it', () => {
  expect(signingKey('whsec_c2VjcmV0').toString()).toBe('secret');
  expect(signingKey('c2VjcmV0').toString()).toBe('secret');
});
