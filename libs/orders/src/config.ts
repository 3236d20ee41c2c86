import { availableParallelism } from 'node:os';
import { isIP } from 'node:net';
import { defaultTimerDriver, parseRedisUrl, timerDriverKinds } from '@app/timeout';
import { z } from 'zod';
import { parseDuration } from './duration';
import { HomeError, homeFolder, writtenSettings } from './home';
import { stripeWeaknessOf, weaknessOf } from './providers/webhook-secret';
import { addressPrefixes, origins } from './web-addresses';

/** A setting is wrong. The message names each one, what is wrong with it and what it may be. */
export class ConfigError extends Error {
  readonly code = 'invalid_settings';
}

const duration = z.string().transform((text, context) => {
  const durationMs = parseDuration(text);
  if (durationMs !== undefined) return durationMs;
  context.addIssue(`must be a duration such as 250ms, 10s, 10m or 30d, not "${text}"`);
  return z.NEVER;
});

const positiveDuration = duration.refine((durationMs) => durationMs > 0, 'must be more than 0');

/** `off` means that there is no limit or no deadline. */
const orOff = <T extends z.ZodType>(schema: T) =>
  z.union([z.literal('off').transform(() => null), schema]);

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be a whole number from ${min} to ${max}`);

const url = (protocols: readonly string[]) =>
  z.string().refine(
    (text) => {
      const parsed = URL.canParse(text) ? new URL(text) : undefined;
      return parsed !== undefined && protocols.includes(parsed.protocol);
    },
    `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  );

const identifier = z
  .string()
  .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'must be a name of small letters, digits and _')
  .refine((name) => !name.startsWith('pg_'), "must not begin with pg_: those are the server's");

const redisUrl = z.string().superRefine((text, context) => {
  try {
    parseRedisUrl(text);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

/** As a share of 1. */
const percentage = z
  .string()
  .regex(/^([1-9]\d?|100)%$/, 'must be a percentage from 1% to 100%')
  .transform((text) => Number.parseInt(text, 10) / 100);

const rateLimit = z.string().transform((text, context) => {
  const match = /^([1-9]\d{0,6})\/(s|m|h)$/.exec(text);
  if (match) return { limit: Number(match[1]), perMs: parseDuration(`1${match[2]}`) as number };
  context.addIssue(`must look like 300/m, with s, m or h, or be "off", not "${text}"`);
  return z.NEVER;
});

/** A secret that somebody could guess is worse than none: nobody would notice. */
const strong = (weakness: (secret: string) => string | undefined) =>
  z.string().superRefine((secret, context) => {
    const message = weakness(secret);
    if (message) context.addIssue(message);
  });

function tokenSecretWeakness(secret: string): string | undefined {
  if (secret.length < 32) return 'must have at least 32 characters';
  if (new Set(secret).size >= 8) return undefined;
  return 'can be guessed: openssl rand -base64 32 makes a good one';
}

/** Addresses and networks, as 10.0.0.0/8, apart by commas. */
const networks = z.string().transform((text, context) => {
  const list = text.split(',').map((network) => network.trim());
  if (list.every(isNetwork)) return list;
  context.addIssue(`must be addresses or networks such as 10.0.0.0/8, not "${text}"`);
  return z.NEVER;
});

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] as number;
  if (longest < 0 || rest.length > 0) return false;
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= longest);
}

const roles = z.string().transform((text, context) => {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name === 'api' || name === 'worker')) return new Set(names);
  context.addIssue(`must be "api", "worker" or "api,worker", not "${text}"`);
  return z.NEVER;
});

const PROVIDER_NAMES = ['sandbox', 'stripe'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

const providers = z.string().transform((text, context) => {
  const names = text.split(',').map((name) => name.trim());
  const [first, ...others] = names.filter((name) => isProviderName(name));
  const areKnown = first !== undefined && others.length === names.length - 1;
  if (areKnown && new Set(names).size === names.length) {
    return [first, ...others] as const satisfies readonly ProviderName[];
  }
  context.addIssue(`must name each of ${PROVIDER_NAMES.join(', ')} once at most, not "${text}"`);
  return z.NEVER;
});

const isProviderName = (name: string): name is ProviderName =>
  PROVIDER_NAMES.some((one) => one === name);

const granularity = z.union([
  // The library knows no orders: to it this is one alarm a subject.
  z.literal('order').transform(() => 'subject' as const),
  positiveDuration.refine((ms) => ms >= 10 && ms <= 60_000, 'must be "order" or 10ms to 1m'),
]);

/** Two fill two cores with Postgres beside them; more than eight wait for the disk and each other. */
const [FEWEST_DRAINERS, MOST_DRAINERS] = [2, 8];

const drainers = z.union([
  z
    .literal('auto')
    .transform(() => Math.min(MOST_DRAINERS, Math.max(FEWEST_DRAINERS, availableParallelism()))),
  wholeNumber(1, 16),
]);

const own = z.object({
  /** 127.0.0.1 lets only this machine connect; a container needs 0.0.0.0 to be reached. */
  HOST: z
    .union([z.ipv4(), z.ipv6()], 'must be an IP address such as 127.0.0.1')
    .prefault('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).prefault('3000'),
  DATABASE_URL: url(['postgres:', 'postgresql:']),
  /** A schema of our own; `public` is where the tables were before, and where a rolling upgrade begins. */
  DATABASE_SCHEMA: identifier.prefault('lastcall'),
  /** A role for the application that cannot rewrite history; roles belong to the whole server. */
  DATABASE_ROLE: z.enum(['off', 'lastcall_app']).prefault('off'),
  /** Without it nothing uses Redis: docs/operations.md, "Without Redis". */
  REDIS_URL: redisUrl.optional(),
  LASTCALL_HOME: z.string().min(1),
  AUTH_JWT_SECRET: strong(tokenSecretWeakness).optional(),
  AUTH_JWKS_URL: url(['http:', 'https:']).optional(),
  AUTH_ISSUER: z.string().min(1).optional(),
  AUTH_AUDIENCE: z.string().min(1).optional(),
  /** Not in the database: whoever owns that cannot seal the history anew. */
  HISTORY_SEAL_KEY: strong(tokenSecretWeakness).optional(),
  AUTH_MAX_AGE: positiveDuration.prefault('30d'),
  ROLES: roles.prefault('api,worker'),
  PAYMENT_WINDOW: positiveDuration.prefault('10m'),
  PAYMENT_GRACE: duration.prefault('1m'),
  SHIP_WITHIN: orOff(positiveDuration).prefault('30d'),
  RECEIVE_WITHIN: orOff(positiveDuration).prefault('14d'),
  SWEEP_INTERVAL: positiveDuration.prefault('10s'),
  DRAINERS: drainers.prefault('auto'),
  /** The driver that needs nothing which is not set, when none is named. */
  TIMER_DRIVER: z.enum([...timerDriverKinds().keys()]),
  TIMER_GRANULARITY: granularity.prefault('100ms'),
  TIMER_HORIZON: positiveDuration.prefault('15m'),
  BLAST_RADIUS: orOff(percentage).prefault('20%'),
  MAX_OPEN_ORDERS: orOff(wholeNumber(1, 200)).prefault('20'),
  MAX_HELD_UNITS: orOff(wholeNumber(1, 1_000_000)).prefault('200'),
  MAX_HELD_SHARE: orOff(percentage).prefault('20%'),
  MAX_UNPAID_IN_A_ROW: orOff(wholeNumber(1, 1_000)).prefault('5'),
  TRUST_PROXY: networks.optional(),
  CORS_ORIGINS: origins.optional(),
  RETURN_URLS: addressPrefixes.optional(),
  /** Where customers reach this API, for links to its pages; default: as the request was addressed. */
  PUBLIC_URL: url(['http:', 'https:']).optional(),
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
  SANDBOX_URL: url(['http:', 'https:']).prefault('http://127.0.0.1:3001'),
  SANDBOX_WEBHOOK_SECRET: strong(weaknessOf).optional(),
  SANDBOX_WEBHOOK_SECRET_PREVIOUS: strong(weaknessOf).optional(),
  STRIPE_SECRET_KEY: z.string().min(1).optional(),
  STRIPE_WEBHOOK_SECRET: strong(stripeWeaknessOf).optional(),
  STRIPE_API_URL: url(['http:', 'https:']).optional(),
  STRIPE_RETURN_URL: url(['http:', 'https:']).prefault('http://127.0.0.1:3000/docs'),
  /** Methods whose money comes days after the payment window keep an order behind the fence. */
  STRIPE_ASYNC_METHODS: z
    .enum(['on', 'off'])
    .transform((text) => text === 'on')
    .prefault('off'),
  LATE_PAYMENT: z.enum(['refund', 'revive', 'hold']).prefault('refund'),
  CANCEL_PAID: z.enum(['off', 'until_shipped']).prefault('off'),
  CUSTOMER_EXTENSION: orOff(
    positiveDuration.refine((ms) => ms <= 120_000, 'must be at most 2m'),
  ).prefault('off'),
  /** How often; ten is what WCAG 2.2.1 calls enough. */
  CUSTOMER_EXTENSIONS: wholeNumber(1, 100).prefault('1'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).prefault('info'),
});

/** What timer drivers ask for themselves. Theirs are read by them: nobody here knows the names. */
const ofDrivers = [...timerDriverKinds().values()].map(({ settings = {} }) => settings);
const schema = own.extend(Object.assign({}, ...ofDrivers) as object);

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const rules = schema.superRefine((settings, context) => {
  const complain = (name: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [name], message });
  if (settings.AUTH_JWT_SECRET && settings.AUTH_JWKS_URL) {
    complain('AUTH_JWKS_URL', 'and AUTH_JWT_SECRET are both set: keep one');
  }
  if (settings.AUTH_JWKS_URL) {
    // Its keys sign tokens for other programs, and for other customers of the issuer.
    for (const name of ['AUTH_ISSUER', 'AUTH_AUDIENCE'] as const) {
      if (!settings[name]) complain(name, 'is missing, and AUTH_JWKS_URL is set');
    }
    if (!isPrivate(settings.AUTH_JWKS_URL)) {
      complain('AUTH_JWKS_URL', 'must begin with https:// unless it is on this machine');
    }
  }
  if (settings.PAYMENT_GRACE > 0 && settings.SWEEP_INTERVAL >= 60_000) {
    complain('SWEEP_INTERVAL', 'must be less than 1m: it bounds how late an order may close');
  }
  if (settings.TIMER_HORIZON < 2 * settings.SWEEP_INTERVAL) {
    complain('TIMER_HORIZON', 'must be at least twice SWEEP_INTERVAL, which arms alarms ahead');
  }
});

/** What the providers that are switched on demand: those of a host's own have their settings from it. */
const providerRules = rules.superRefine((settings, context) => {
  const complain = (name: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [name], message });
  const { PAYMENT_PROVIDERS: names, PAYMENT_PROVIDER: alias } = settings;
  if (alias && alias !== names[0]) {
    complain('PAYMENT_PROVIDER', `and PAYMENT_PROVIDERS differ: keep PAYMENT_PROVIDERS`);
  }
  if (names.includes('sandbox') && !settings.SANDBOX_WEBHOOK_SECRET) {
    complain('SANDBOX_WEBHOOK_SECRET', 'is missing: the sandbox signs its webhooks with it');
  }
  if (names.includes('stripe')) {
    for (const name of ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'] as const) {
      if (!settings[name]) complain(name, 'is missing, and stripe is switched on');
    }
  }
});

const timerNeeds = (settings: Readonly<Record<string, unknown>>): string[] => {
  const kind = timerDriverKinds().get(String(settings.TIMER_DRIVER));
  return (kind?.needs ?? []).filter((name) => settings[name] === undefined);
};

/** Whoever arms alarms has to reach them. */
const armingRules = <Rules extends typeof rules>(demands: Rules): Rules =>
  demands.superRefine((settings, context) => {
    for (const name of timerNeeds(settings)) {
      const message = `is missing: TIMER_DRIVER=${settings.TIMER_DRIVER} needs it`;
      context.addIssue({ code: 'custom', path: [name], message });
    }
  });

/** What a process that answers HTTP requests demands beside. */
const serverRules = armingRules(providerRules).superRefine((settings, context) => {
  if (settings.AUTH_JWT_SECRET || settings.AUTH_JWKS_URL) return;
  const message = 'is missing: set it (32 characters or more), or AUTH_JWKS_URL';
  context.addIssue({ code: 'custom', path: ['AUTH_JWT_SECRET'], message });
});

/** Nobody on the way can change what comes back. */
function isPrivate(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || LOOPBACK.test(hostname);
}

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

/**
 * Reads and validates the settings. What `npm start` wrote into `LASTCALL_HOME` (secrets.json,
 * runtime.json) fills in for names the environment does not set, unless the environment says by
 * `DATABASE_URL` that another installation is meant.
 * @throws {ConfigError} naming every setting, or the file, that is wrong
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  return load(serverRules, env);
}

/**
 * As {@link loadConfig}, for a process that serves nobody (a command, a host with its own auth): how
 * callers are known is not demanded.
 */
export function loadConfigWithoutAuth(env: NodeJS.ProcessEnv = process.env): Config {
  return load(armingRules(providerRules), env);
}

/** The settings of a host that brings its own providers, and its auth: nothing is read from elsewhere. */
export function hostConfig(settings: Readonly<Record<string, string | undefined>>): Config {
  return load(armingRules(rules), { ...settings });
}

/** What a command is about to do; it needs no secret for anything else. */
export type Purpose = 'look' | 'change' | 'ask-providers';

/**
 * As {@link loadConfigWithoutAuth}, for a command, which demands what its purpose needs: to look,
 * neither the secrets of providers nor the store of the alarms (which then are not seen); to change
 * something, that store; to ask a provider, everything.
 */
export function loadConfigFor(purpose: Purpose, env: NodeJS.ProcessEnv = process.env): Config {
  if (purpose === 'ask-providers') return loadConfigWithoutAuth(env);
  if (purpose === 'change') return load(armingRules(rules), env);
  return load(rules, env, { seesAlarms: false });
}

function load(
  demands: typeof rules,
  env: NodeJS.ProcessEnv,
  { seesAlarms = true }: { seesAlarms?: boolean } = {},
): Config {
  const home = homeFolder(env.LASTCALL_HOME);
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const written = given.DATABASE_URL ? {} : writtenIn(home);
  if (given.AUTH_JWKS_URL) delete written.AUTH_JWT_SECRET;
  if (given.PAYMENT_PROVIDER) given.PAYMENT_PROVIDERS ??= given.PAYMENT_PROVIDER;
  given.TIMER_DRIVER ??= defaultTimerDriver({ ...written, ...given });
  // Alarms in the memory of nobody: they are not looked for, and none is armed.
  if (!seesAlarms && timerNeeds({ ...written, ...given }).length > 0) given.TIMER_DRIVER = 'memory';
  const result = demands.safeParse({ ...written, ...given, LASTCALL_HOME: home });
  if (result.success) return result.data;
  const lines = result.error.issues.map(
    (issue) => `  ${issue.path.join('.')} ${phrase(issue, given)}`,
  );
  throw new ConfigError(`These settings are wrong:\n${[...new Set(lines)].join('\n')}`);
}

function writtenIn(home: string): Record<string, string> {
  try {
    return writtenSettings(home);
  } catch (cause) {
    if (cause instanceof HomeError) throw new ConfigError(cause.message, { cause });
    throw cause;
  }
}

function phrase(issue: z.core.$ZodIssue, given: NodeJS.ProcessEnv): string {
  const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  const isMissed = missing || issue.message.startsWith('is missing');
  if (isMissed && given.DATABASE_URL) {
    const what = missing ? 'is not set' : issue.message;
    return `${what}; with DATABASE_URL in the environment LASTCALL_HOME is not read`;
  }
  if (missing) return 'is not set, and no running installation was found (`npm start` starts one)';
  if (issue.code === 'invalid_value') return `must be one of: ${issue.values.join(', ')}`;
  if (issue.code === 'invalid_union') {
    const inner = issue.errors
      .flat()
      .find((one) => one.code === 'custom' || one.code === 'invalid_format');
    return inner ? inner.message : 'has a value that is not allowed';
  }
  return issue.message;
}
