import { timerDriverKinds } from '@app/timeout';
import { z } from 'zod';
import { stripeWeaknessOf, weaknessOf } from './webhook-secret';
import { addressPrefixes, origins } from './web-addresses';
import {
  duration,
  positiveDuration,
  postgresUrl,
  orOff,
  wholeNumber,
  url,
  redisUrl,
  schemaName,
  percentage,
  rateLimit,
  stripeKey,
  strong,
  networks,
  roles,
  rootUrl,
  PROVIDER_NAMES,
  providers,
  toldProviders,
  granularity,
  drainers,
  tokenSecretWeakness,
  trimmed,
} from './setting-kinds';

/** Stock waits for as long. */
const LONGEST_EXTENSION_MS = 3_600_000;
/** What needs it at all needs it daily; and Postgres counts these milliseconds by integers. */
const LONGEST_SWEEP_INTERVAL_MS = 86_400_000;
/** Each process remembers the slots that it has armed. */
const LONGEST_HORIZON_MS = 7 * 86_400_000;

const LONGEST_NOTICE_MS = 10_000;

const own = z.object({
  /** 127.0.0.1 lets only this machine connect; a container needs 0.0.0.0 to be reached. */
  HOST: z
    .union([z.ipv4(), z.ipv6()], 'must be an IP address such as 127.0.0.1')
    .prefault('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).prefault('3000'),
  DATABASE_URL: postgresUrl,
  /** A schema of our own; `public` is where the tables were before, and where a rolling upgrade begins. */
  DATABASE_SCHEMA: schemaName.prefault('lastcall'),
  /** A role for the application that cannot rewrite history; roles belong to the whole server. */
  DATABASE_ROLE: z.enum(['off', 'lastcall_app']).prefault('off'),
  /** Without it nothing uses Redis: docs/operations.md, "Without Redis". */
  REDIS_URL: redisUrl.optional(),
  /** Slots of a cluster that alarms, and locks, are spread over: 4 on a cluster, 1 elsewhere. */
  REDIS_HASH_TAGS: wholeNumber(1, 64).optional(),
  LASTCALL_HOME: z.string().min(1),
  AUTH_JWT_SECRET: strong(tokenSecretWeakness).optional(),
  AUTH_JWKS_URL: url.optional(),
  AUTH_ISSUER: trimmed.optional(),
  AUTH_AUDIENCE: trimmed.optional(),
  /** Not in the database: whoever owns that cannot seal the history anew. */
  HISTORY_SEAL_KEY: strong(tokenSecretWeakness).optional(),
  AUTH_MAX_AGE: positiveDuration.prefault('30d'),
  ROLES: roles.prefault('api,worker'),
  PAYMENT_WINDOW: positiveDuration.prefault('10m'),
  PAYMENT_GRACE: duration.prefault('1m'),
  SHIP_WITHIN: orOff(positiveDuration).prefault('30d'),
  RECEIVE_WITHIN: orOff(positiveDuration).prefault('14d'),
  SWEEP_INTERVAL: positiveDuration
    .refine(
      (ms) => ms <= LONGEST_SWEEP_INTERVAL_MS,
      'must be at most 1d: sweeps find what has lost its alarm, and arm what comes near',
    )
    .prefault('10s'),
  DRAINERS: drainers.prefault('auto'),
  /** The driver that needs nothing which is not set, when none is named. */
  TIMER_DRIVER: z.enum([...timerDriverKinds().keys()]),
  TIMER_GRANULARITY: granularity.prefault('100ms'),
  TIMER_HORIZON: positiveDuration
    .refine(
      (ms) => ms <= LONGEST_HORIZON_MS,
      'must be at most 7d: what is due later waits in Postgres',
    )
    .prefault('15m'),
  BLAST_RADIUS: orOff(percentage).prefault('20%'),
  MAX_OPEN_ORDERS: orOff(wholeNumber(1, 10_000)).prefault('20'),
  MAX_HELD_UNITS: orOff(wholeNumber(1, 1_000_000)).prefault('200'),
  MAX_HELD_SHARE: orOff(percentage).prefault('20%'),
  MAX_UNPAID_IN_A_ROW: orOff(wholeNumber(1, 1_000)).prefault('5'),
  TRUST_PROXY: networks.optional(),
  CORS_ORIGINS: origins.optional(),
  RETURN_URLS: addressPrefixes.optional(),
  /** Where customers reach this API, for links to its pages; default: as the request was addressed. */
  PUBLIC_URL: rootUrl.optional(),
  /** A shop to try things out in, at `/`; it places orders for anybody. */
  SAMPLE_SHOP: z.enum(['on', 'off']).prefault('off'),
  /** What the console calls this installation. */
  ENVIRONMENT: z
    .string()
    .regex(/^[\w .-]{1,30}$/, 'must be a name of 1 to 30 letters, digits, spaces, dots or hyphens')
    .optional(),
  /** Webhooks may also go to private networks and by plain HTTP: to try things out, or inside one network. */
  WEBHOOKS_ALLOW_PRIVATE: z
    .enum(['on', 'off'])
    .transform((text) => text === 'on')
    .prefault('off'),
  DOCS: z.enum(['on', 'off']).prefault('on'),
  RATE_LIMIT: orOff(rateLimit).prefault('300/m'),
  PAYMENT_PROVIDERS: providers.prefault('sandbox'),
  /** The older name, from when there was one at a time. */
  PAYMENT_PROVIDER: z.enum(PROVIDER_NAMES).optional(),
  SANDBOX_URL: rootUrl.prefault('http://127.0.0.1:3001'),
  SANDBOX_WEBHOOK_SECRET: strong(weaknessOf).optional(),
  SANDBOX_WEBHOOK_SECRET_PREVIOUS: strong(weaknessOf).optional(),
  STRIPE_SECRET_KEY: stripeKey.optional(),
  STRIPE_WEBHOOK_SECRET: strong(stripeWeaknessOf).optional(),
  STRIPE_API_URL: rootUrl.optional(),
  STRIPE_RETURN_URL: url.prefault('http://127.0.0.1:3000/docs'),
  /** Methods whose money comes days after the payment window keep an order behind the fence. */
  STRIPE_ASYNC_METHODS: z
    .enum(['on', 'off'])
    .transform((text) => text === 'on')
    .prefault('off'),
  LATE_PAYMENT: z.enum(['refund', 'revive', 'hold']).prefault('refund'),
  CANCEL_PAID: z.enum(['off', 'until_shipped']).prefault('off'),
  /** In the environment with how often, too: `2m x10` (config.ts). */
  CUSTOMER_EXTENSION: orOff(
    positiveDuration.refine((ms) => ms <= LONGEST_EXTENSION_MS, 'must be at most 1h'),
  ).prefault('off'),
  /** How often; ten is what WCAG 2.2.1 calls enough. */
  CUSTOMER_EXTENSIONS: wholeNumber(1, 100).prefault('1'),
  /** Readiness says no for so long before the door closes. */
  SHUTDOWN_NOTICE: duration
    .refine(
      (ms) => ms <= LONGEST_NOTICE_MS,
      'must be at most 10s: what stops processes waits for 30 s as a rule, and the rest takes up to 20',
    )
    .prefault('300ms'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).prefault('info'),
});

/** What timer drivers ask for themselves. Theirs are read by them: nobody here knows the names. */
const ofDrivers = [...timerDriverKinds().values()].map(({ settings = {} }) => settings);
export const schema = own.extend(Object.assign({}, ...ofDrivers) as object);

/** Where processes have told which providers they have: those of a host's own are among them. */
export const toldSchema = schema.extend({ PAYMENT_PROVIDERS: toldProviders.prefault('sandbox') });

export type Config = z.output<typeof schema>;

/** What names a secret, or an address that may have one in it. */
type SecretName<Name extends string> = Name extends
  `AUTH_${string}` | `${string}SECRET${string}` | `${string}_KEY` | `${string}_URL`
  ? Name
  : never;
const SECRET_NAME = /^AUTH_|SECRET|_KEY$|_URL$/;

/** The settings without secrets: what a use case may know. */
export type Settings = Omit<Config, SecretName<keyof Config>>;

/** Injection token of the {@link Settings}. */
export const SETTINGS = Symbol('LastcallSettings');

export function settingsOf(config: Config): Settings {
  const open = Object.entries(config).filter(([name]) => !SECRET_NAME.test(name));
  return Object.fromEntries(open) as unknown as Settings;
}

/** The names of all settings, for docs and checks. */
export const SETTING_NAMES = Object.keys(schema.shape) as (keyof Config)[];
