import { loadConfig, settingsOf } from '../config';
import { SHARED_NAMES, sharedSettings } from './shared-settings';

const SECRETS = {
  DATABASE_URL: 'postgres://u:canary@h/d',
  REDIS_URL: 'redis://:canary@h',
  AUTH_JWT_SECRET: 'canary-secret-of-some-32-characters',
  SANDBOX_WEBHOOK_SECRET: 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
  STRIPE_SECRET_KEY: 'sk_canary',
  STRIPE_WEBHOOK_SECRET: 'whsec_canary-secret-of-some-32-characters',
};
const share = (env: Record<string, string>) =>
  sharedSettings(settingsOf(loadConfig({ ...SECRETS, ...env })));

describe('sharedSettings', () => {
  it.each<Record<string, string>>([
    {},
    {
      ...{
        TIMER_GRANULARITY: '5000ms',
        TIMER_HORIZON: '2h',
        SWEEP_INTERVAL: '90s',
        PAYMENT_GRACE: '0s',
      },
      ...{ SHIP_WITHIN: 'off', BLAST_RADIUS: '7%', MAX_HELD_SHARE: 'off', MAX_OPEN_ORDERS: '3' },
      ...{ PAYMENT_PROVIDERS: 'stripe,sandbox', STRIPE_ASYNC_METHODS: 'on', LATE_PAYMENT: 'hold' },
      ...{ CUSTOMER_EXTENSION: '120s', WEBHOOKS_ALLOW_PRIVATE: 'on' },
    },
    { TIMER_GRANULARITY: 'order', BLAST_RADIUS: 'off', CUSTOMER_EXTENSION: 'off' },
  ])('are read back as what they were: %j', (env) => {
    const text = share(env);
    expect(Object.keys(text)).toEqual(SHARED_NAMES);
    const again = loadConfig({ ...SECRETS, ...text });
    const before = loadConfig({ ...SECRETS, ...env });
    for (const name of SHARED_NAMES) expect(again[name]).toEqual(before[name]);
    expect(share(text)).toEqual(text);
  });

  it('write the same value in one way, and hold no secret', () => {
    expect(share({ TIMER_GRANULARITY: '5000ms' })).toEqual(share({ TIMER_GRANULARITY: '5s' }));
    expect(JSON.stringify(share({ PAYMENT_PROVIDERS: 'stripe,sandbox' }))).not.toMatch(
      /canary|whsec/,
    );
  });
});
