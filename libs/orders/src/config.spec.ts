import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ConfigError,
  loadConfig,
  loadConfigWithoutAuth,
  SETTING_NAMES,
  settingsOf,
} from './config';

/** What has no default, and stands in these tests' settings. */
const GIVEN = ['DATABASE_URL', 'REDIS_URL', 'AUTH_JWT_SECRET', 'SANDBOX_WEBHOOK_SECRET'];

describe('loadConfig', () => {
  let home: string;
  beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'lastcall-config-'))));
  afterEach(() => rmSync(home, { recursive: true }));

  const load = (change: NodeJS.ProcessEnv = {}) =>
    loadConfig({
      DATABASE_URL: 'postgres://127.0.0.1/shop',
      REDIS_URL: 'redis://127.0.0.1',
      AUTH_JWT_SECRET: 'a-secret-for-tests-of-32-characters',
      SANDBOX_WEBHOOK_SECRET: 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
      LASTCALL_HOME: home,
      ...change,
    });
  const complaint = (change: NodeJS.ProcessEnv): string => {
    try {
      load(change);
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      throw error;
    }
    return 'accepted';
  };

  it('has the defaults of the contract', () => {
    expect(load()).toMatchObject({
      PORT: 3000,
      ROLES: new Set(['api', 'worker']),
      PAYMENT_WINDOW: 600_000,
      PAYMENT_GRACE: 60_000,
      SHIP_WITHIN: 30 * 86_400_000,
      RECEIVE_WITHIN: 14 * 86_400_000,
      SWEEP_INTERVAL: 10_000,
      TIMER_DRIVER: 'bullmq',
      TIMER_GRANULARITY: 100,
      TIMER_HORIZON: 900_000,
      MAX_OPEN_ORDERS: 20,
      MAX_HELD_UNITS: 200,
      MAX_HELD_SHARE: 0.2,
      MAX_UNPAID_IN_A_ROW: 5,
      RATE_LIMIT: { limit: 300, perMs: 60_000 },
      PAYMENT_PROVIDERS: ['sandbox'],
      LATE_PAYMENT: 'refund',
      AUTH_MAX_AGE: 30 * 86_400_000,
      SHUTDOWN_NOTICE: 300,
    });
  });

  it('takes how much more time customers may have, and how often, in one setting or two', () => {
    const extension = (change: NodeJS.ProcessEnv) => {
      const { CUSTOMER_EXTENSION: ms, CUSTOMER_EXTENSIONS: times } = load(change);
      return [ms, times];
    };
    expect(extension({})).toEqual([null, 1]);
    expect(extension({ CUSTOMER_EXTENSION: 'off' })).toEqual([null, 1]);
    expect(extension({ CUSTOMER_EXTENSION: '5m' })).toEqual([300_000, 1]);
    expect(extension({ CUSTOMER_EXTENSION: '2m x10' })).toEqual([120_000, 10]);
    expect(extension({ CUSTOMER_EXTENSION: '2m', CUSTOMER_EXTENSIONS: '3' })).toEqual([120_000, 3]);
    expect(complaint({ CUSTOMER_EXTENSION: '2m x10', CUSTOMER_EXTENSIONS: '3' })).toContain(
      'CUSTOMER_EXTENSION says x10 and CUSTOMER_EXTENSIONS 3',
    );
    expect(complaint({ CUSTOMER_EXTENSION: '2h' })).toContain('must be at most 1h');
    expect(complaint({ CUSTOMER_EXTENSION: '2m x0' })).toContain('CUSTOMER_EXTENSIONS must be');
    expect(complaint({ CUSTOMER_EXTENSION: 'soon x2' })).toContain('CUSTOMER_EXTENSION must be');
  });

  it('takes as many drainers as this machine has cores, within reason, or as it is told', () => {
    const { DRAINERS } = load();
    expect(DRAINERS).toBe(Math.min(8, Math.max(2, availableParallelism())));
    expect(load({ DRAINERS: '12' }).DRAINERS).toBe(12);
    for (const DRAINERS of ['0', '17', 'many'])
      expect(() => load({ DRAINERS })).toThrow('DRAINERS');
  });

  it('has all its settings in .env.example, those with a default at it', () => {
    const file = readFileSync(join(__dirname, '../../../.env.example'), 'utf8');
    const lines = [...file.matchAll(/^(# )?([A-Z_]+)=(.*)$/gm)];
    const names = lines.map(([, , name]) => name as string);
    const ofTheSandbox = /^SANDBOX_(HOST|PORT|DATA|WEBHOOK_URL)$/;
    expect(names.filter((name) => !ofTheSandbox.test(name)).sort()).toEqual(
      [...SETTING_NAMES].sort(),
    );
    const set = lines.filter(([, hash]) => hash === undefined);
    const written = Object.fromEntries(set.map(([, , name, value]) => [name, value]));
    expect(load({ ...written, LASTCALL_HOME: home })).toEqual(load());
    const defaults = Object.entries(load()).filter(([name]) => !GIVEN.includes(name));
    expect(defaults.map(([name]) => name).filter((name) => !(name in written))).toEqual([]);
  });

  it('takes "off" for no limit and no deadline', () => {
    const off = {
      SHIP_WITHIN: 'off',
      RECEIVE_WITHIN: 'off',
      MAX_OPEN_ORDERS: 'off',
      MAX_HELD_UNITS: 'off',
      MAX_HELD_SHARE: 'off',
      MAX_UNPAID_IN_A_ROW: 'off',
      RATE_LIMIT: 'off',
    };
    expect(load(off)).toMatchObject(
      Object.fromEntries(Object.keys(off).map((name) => [name, null])),
    );
  });

  it('takes an empty variable for one that is not set', () => {
    expect(load({ PAYMENT_WINDOW: '' }).PAYMENT_WINDOW).toBe(600_000);
  });

  it.each([
    ['PORT', '70000'],
    ['PORT', 'http'],
    ['DATABASE_URL', 'mysql://127.0.0.1/shop'],
    ['REDIS_URL', 'nonsense'],
    ['PAYMENT_WINDOW', '10'],
    ['PAYMENT_WINDOW', '0s'],
    ['SWEEP_INTERVAL', '2m'],
    ['SHUTDOWN_NOTICE', '11s'],
    ['TIMER_GRANULARITY', '1ms'],
    ['TIMER_GRANULARITY', 'slot'],
    ['TIMER_GRANULARITY', '61s'],
    ['TIMER_HORIZON', '15s'],
    ['BLAST_RADIUS', '12.5%'],
    ['BLAST_RADIUS', '0%'],
    ['ROLES', 'api,boss'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', '10.0.0.0/33'],
    ['TRUST_PROXY', '0.0.0.0/0'],
    ['TRUST_PROXY', '10.0.0.1, proxy'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'null'],
    ['CORS_ORIGINS', 'shop.example'],
    ['CORS_ORIGINS', 'https://shop.example/'],
    ['CORS_ORIGINS', 'https://shop.example, ftp://shop.example'],
    ['RETURN_URLS', 'https://shop.example/?next=1'],
    ['RETURN_URLS', 'shop.example'],
    ['DOCS', 'yes'],
    ['RATE_LIMIT', '300'],
    ['MAX_OPEN_ORDERS', '0'],
    ['LATE_PAYMENT', 'keep'],
    ['AUTH_JWT_SECRET', 'short'],
    ['AUTH_JWT_SECRET', 'secret'.repeat(8)],
    ['SANDBOX_WEBHOOK_SECRET', 'whsec_!!!!'],
    ['SANDBOX_WEBHOOK_SECRET_PREVIOUS', 'whsec_c2hvcnQ='],
    ['STRIPE_WEBHOOK_SECRET', 'whsec_'],
    ['STRIPE_SECRET_KEY', 'sk_test_“1”'],
    ['STRIPE_SECRET_KEY', 'sk_test_1 '],
    ['STRIPE_SECRET_KEY', 'pk_test_1'],
    ['STRIPE_SECRET_KEY', 'whsec_1'],
    ['AUTH_JWKS_URL', 'issuer.example'],
    ['AUTH_JWKS_URL', 'https://shop:secret@issuer.example/keys'],
    ['AUTH_ISSUER', ' '],
    ['SANDBOX_URL', 'http://127.0.0.1:3001/sandbox'],
    ['STRIPE_API_URL', 'https://mock.example/v2'],
    ['STRIPE_RETURN_URL', 'https://shop:secret@shop.example/'],
  ])('names %s when it is "%s"', (name, value) => {
    expect(complaint({ [name]: value })).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  it('names a setting whatever is wrong with it, and never fails otherwise', () => {
    const odd = [
      'abc',
      ' ',
      '0',
      '-1',
      '1e99',
      'OFF',
      'NaN',
      '%',
      ',',
      '://',
      'http://',
      '[]',
      'é',
    ];
    const fails = SETTING_NAMES.flatMap((name) =>
      odd.map((value) => [name, value] as const),
    ).filter(([name, value]) => {
      const said = complaint({ [name]: value });
      return said !== 'accepted' && !new RegExp(`^  ${name} `, 'm').test(said);
    });
    expect(fails).toEqual([]);
  });

  it('takes what tokens are compared with without the blanks around it', () => {
    const { AUTH_ISSUER, AUTH_AUDIENCE } = load({ AUTH_ISSUER: 'shop ', AUTH_AUDIENCE: '\tapp\r' });
    expect([AUTH_ISSUER, AUTH_AUDIENCE]).toEqual(['shop', 'app']);
  });

  it.each([
    [{ PAYMENT_WINDOW: '100000d' }, 'PAYMENT_WINDOW must be at most 3650d, not "100000d"'],
    [{ SHIP_WITHIN: `${'9'.repeat(400)}d` }, 'SHIP_WITHIN must be "off", or at most 3650d'],
    [{ SWEEP_INTERVAL: '25h', PAYMENT_GRACE: '0s' }, 'SWEEP_INTERVAL must be at most 1d'],
    [{ TIMER_HORIZON: '169h' }, 'TIMER_HORIZON must be at most 7d'],
  ])('says how long at most for %j', (change, said) => {
    expect(complaint(change)).toContain(said);
  });

  it.each([
    [
      { MAX_OPEN_ORDERS: 'none' },
      'MAX_OPEN_ORDERS must be "off", or a whole number from 1 to 10000',
    ],
    [{ DRAINERS: '0' }, 'DRAINERS must be "auto", or a whole number from 1 to 16'],
    [{ TIMER_GRANULARITY: '1ms' }, 'TIMER_GRANULARITY must be "order" or 10ms to 1m'],
    [{ HOST: 'localhost' }, 'HOST must be an IP address such as 127.0.0.1'],
    [{ PUBLIC_URL: 'https://pay.example/shop' }, 'PUBLIC_URL must have no path, ? or #'],
    [{ PUBLIC_URL: 'https://shop:secret@pay.example' }, 'PUBLIC_URL must be a URL that'],
    [{ PUBLIC_URL: 'https://shop:secret@pay.example' }, 'without a user and a password'],
  ])('says all that is allowed in the place of %j', (change, said) => {
    expect(complaint(change)).toContain(said);
  });

  it.each([
    ['postgres://lc:hunter2@h1:1,h2:2/shop', 'DATABASE_URL must name one host only'],
    ['postgres://lc:hunter2@h1,h2/shop', 'DATABASE_URL must name one host only'],
    ['mysql://lc:hunter2@h1/shop', 'DATABASE_URL must be a URL that begins with postgres://'],
    ['postgres://lc:hunter2@h1:x/shop', 'DATABASE_URL must be a URL such as'],
    ['postgres://lc:hunter2%@h1/shop', 'DATABASE_URL must write a "%" in a name or a password'],
    ['postgres://lc:hunter2@h1/shop?sslmode=verify_full', 'no-verify for its sslmode'],
    [
      'postgres://lc:hunter2@h1/shop?sslmode=verify-full&sslrootcert=/no/ca.crt',
      'DATABASE_URL must name files that can be read: its sslrootcert cannot (ENOENT)',
    ],
    [
      `postgres://lc:hunter2@h1/shop?sslmode=verify-full&sslrootcert=${__dirname}`,
      'DATABASE_URL must name files that can be read: its sslrootcert cannot (EISDIR)',
    ],
  ])('says what is wrong with %s, and no secret', (DATABASE_URL, said) => {
    expect(complaint({ DATABASE_URL })).toContain(said);
    expect(complaint({ DATABASE_URL })).not.toContain('hunter2');
  });

  it('takes a comma in a password', () => {
    const DATABASE_URL = 'postgres://lc:pa,ss@127.0.0.1/shop';
    expect(load({ DATABASE_URL })).toMatchObject({ DATABASE_URL });
  });

  it('shows what would act on a terminal as a number, in a line of its own setting', () => {
    const message = complaint({
      ROLES: '\u001b[2J\u001b[31mapi\n  PORT is fine\r',
      PAYMENT_WINDOW: '\u202e5m',
    });
    expect(message).toContain('not "\\u001b[2J\\u001b[31mapi\\u000a  PORT is fine\\u000d"');
    expect(message).toContain('not "\\u202e5m"');
    expect(message.split('\n')).toHaveLength(3);
    expect(new ConfigError('\u009b31m in a path').message).toBe('\\u009b31m in a path');
  });

  it('names everything that is wrong at once, and no secret', () => {
    const message = complaint({ PORT: 'x', ROLES: 'y', AUTH_JWT_SECRET: 'hunter2' });
    for (const name of ['PORT', 'ROLES', 'AUTH_JWT_SECRET']) expect(message).toContain(name);
    expect(message).not.toContain('hunter2');
  });

  it('needs no Redis, and says which driver does', () => {
    expect(load({ REDIS_URL: '' })).toMatchObject({ TIMER_DRIVER: 'postgres' });
    expect(load({ REDIS_URL: '' }).REDIS_URL).toBeUndefined();
    expect(complaint({ REDIS_URL: '', TIMER_DRIVER: 'bullmq' })).toMatch(
      /^ {2}REDIS_URL is missing: TIMER_DRIVER=bullmq needs it/m,
    );
  });

  it('takes a driver by its name, and names those there are for any other', () => {
    expect(load({ TIMER_DRIVER: 'memory', ROLES: 'api' }).TIMER_DRIVER).toBe('memory');
    expect(complaint({ TIMER_DRIVER: 'sundial' })).toMatch(
      /^ {2}TIMER_DRIVER must be one of: .*bullmq.*memory/m,
    );
  });

  it('asks for issuer, audience and https with the keys of an issuer', () => {
    const keys = { AUTH_JWT_SECRET: '', AUTH_JWKS_URL: 'http://issuer.example/keys' };
    const message = complaint(keys);
    for (const name of ['AUTH_ISSUER', 'AUTH_AUDIENCE'])
      expect(message).toContain(`${name} is missing`);
    expect(message).toContain('AUTH_JWKS_URL must begin with https://');
    const whole = { ...keys, AUTH_ISSUER: 'https://issuer.example', AUTH_AUDIENCE: 'shop' };
    for (const url of ['https://issuer.example/keys', 'http://127.0.0.1/keys', 'http://[::1]/']) {
      expect(complaint({ ...whole, AUTH_JWKS_URL: url })).toBe('accepted');
    }
    expect(complaint({ ...whole, AUTH_JWKS_URL: 'http://127.0.0.1.evil.example/' })).toContain(
      'https',
    );
  });

  it('asks for what is needed to check tokens and webhooks', () => {
    expect(complaint({ AUTH_JWT_SECRET: '' })).toContain('AUTH_JWT_SECRET is missing');
    expect(complaint({ SANDBOX_WEBHOOK_SECRET: '' })).toContain(
      'SANDBOX_WEBHOOK_SECRET is missing',
    );
    expect(complaint({ PAYMENT_PROVIDER: 'stripe' })).toContain('STRIPE_SECRET_KEY');
    expect(complaint({ PAYMENT_PROVIDERS: 'sandbox,stripe' })).toContain('STRIPE_SECRET_KEY');
  });

  it('demands no auth of who serves nobody', () => {
    const { DATABASE_URL, REDIS_URL } = load();
    const env = { DATABASE_URL, REDIS_URL, SANDBOX_WEBHOOK_SECRET: load().SANDBOX_WEBHOOK_SECRET };
    expect(loadConfigWithoutAuth({ ...env, LASTCALL_HOME: home }).AUTH_JWT_SECRET).toBeUndefined();
    expect(complaint({ AUTH_JWT_SECRET: '' })).toContain('AUTH_JWT_SECRET is missing');
  });

  it('gives use cases no secret, and no address that may hold one', () => {
    const canary = 'canary-canary-canary-canary-0123456789';
    const settings = settingsOf(
      load({
        AUTH_JWT_SECRET: canary,
        STRIPE_SECRET_KEY: canary,
        DATABASE_URL: `postgres://app:${canary}@127.0.0.1/shop`,
        REDIS_URL: `redis://:${canary}@127.0.0.1`,
      }),
    );
    expect(JSON.stringify(settings)).not.toContain('canary');
    expect(settings).not.toHaveProperty('SANDBOX_WEBHOOK_SECRET');
    expect(settings.PAYMENT_WINDOW).toBe(600_000);
  });
});
