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

it.each([
  ['SANDBOX_PORT', '70000'],
  ['SANDBOX_PORT', '-1'],
  ['SANDBOX_PORT', 'http'],
  ['SANDBOX_WEBHOOK_URL', 'shop.example/hooks'],
  ['SANDBOX_WEBHOOK_URL', 'https://shop.example/hooks'],
  ['SANDBOX_WEBHOOK_URL', 'http://10.0.0.7/hooks'],
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
