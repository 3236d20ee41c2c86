import { z } from 'zod';
import { timerDriverKind } from '../drivers/registry';
import { complaintAboutPostgresUrl } from '../database/postgres-url';
import type { RedisAddress } from '../redis/redis';
import { parseRedisUrl } from '../redis/redis-url';
import { silentTelemetry } from '../telemetry';
import type { HostPostgres } from './connections';
import { assertOptions, hasMethods, having, isObject, orElse } from './option-kinds';
import type { TimeoutModuleOptions } from './timeout-options';

const postgres = z
  .custom<HostPostgres>((value) => {
    const [only, ...more] = Object.entries(isObject(value) ? value : {});
    if (!only || more.length > 0) return false;
    const [name, place] = only;
    if (name === 'url') return typeof place === 'string' && place !== '';
    if (!isObject(place)) return false;
    if (name === 'pool') return true;
    return name === 'dataSource' && typeof place.query === 'function' && isObject(place.options);
  }, orElse("one of { url }, { dataSource } (TypeORM's) and { pool } (node-postgres')"))
  .superRefine((value, context) => {
    const complain = (name: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [name], message });
    const complaint = 'url' in value ? complaintAboutPostgresUrl(value.url) : undefined;
    if (complaint) complain('url', complaint);
    if ('pool' in value && !isObject(value.pool.options)) {
      complain('pool', 'must be a Pool of node-postgres, with the `options` that it was made with');
    }
  });

const redis = z
  .custom<RedisAddress>(
    (value) => isObject(value) || (typeof value === 'string' && value !== ''),
    orElse('a URL, options or a client of ioredis'),
  )
  .superRefine((value, context) => {
    const message = typeof value === 'string' ? complaintOf(value) : complaintAboutNames(value);
    if (message) context.addIssue(message);
  });

/** What is wrong with an address of Redis. */
function complaintOf(url: string): string | undefined {
  try {
    parseRedisUrl(url);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Where Redis is, as other libraries are told: without one of its own, ioredis goes to this machine. */
const STRANGE_NAMES = ['url', 'uri', 'connection', 'connectionString', 'socket', 'hostname'];
const OWN_NAMES = ['host', 'path', 'sentinels', 'Connector'];

function complaintAboutNames(options: RedisAddress): string | undefined {
  const given: Readonly<Record<string, unknown>> = isObject(options) ? options : {};
  const isGiven = (name: string): boolean => given[name] !== undefined;
  const strange = STRANGE_NAMES.find(isGiven);
  if (!strange || OWN_NAMES.some(isGiven)) return undefined;
  return `has \`${strange}\`, which ioredis does not know: give the URL itself, or { host, port }`;
}

const telemetry = z.custom((value) => {
  if (!isObject(value) || !hasMethods(value, ['failed'])) return false;
  const others = Object.keys(silentTelemetry).filter((name) => value[name] !== undefined);
  return hasMethods(value, others);
}, orElse('a TimeoutTelemetry: `failed`, and of its other methods those that you want'));

/** What is asked of a TimerDriver, and this one does not have, or has as another kind of value. */
function lacks(driver: unknown): string[] {
  if (!isObject(driver)) return ['TimerDriver'];
  const abilities = isObject(driver.abilities) ? driver.abilities : {};
  const has = {
    name: typeof driver.name === 'string',
    ...Object.fromEntries(
      ['start', 'stop', 'arm', 'disarm', 'survey'].map((one) => [one, hasMethods(driver, [one])]),
    ),
    'abilities.scope': abilities.scope === 'shared' || abilities.scope === 'process',
    'abilities.disarms': typeof abilities.disarms === 'boolean',
    'abilities.surveys': typeof abilities.surveys === 'boolean',
  };
  return Object.entries(has).flatMap(([name, isThere]) => (isThere ? [] : [`\`${name}\``]));
}

/**
 * Sweeps bring deadlines near 30 min before they are due, and arm them 15 min before. So far apart,
 * six sweeps do the one and three the other: nothing is late where one fails.
 */
const MOST_SWEEP_INTERVAL_MS = 300_000;

const MOST_DRAINERS = 16;
/** A handler that is silent for longer is given up anyway. */
const MOST_STANDSTILL_MS = 20_000;
/** Below, transactions end where nothing is wrong, and what was due is tried again for ever. */
const LEAST_STANDSTILL_MS = 1_000;

const aFunction = z.custom((value) => typeof value === 'function', orElse('a function'));
const someNames = orElse('names of kinds, one or more');
const aShare = orElse('above 0 and at most 1');

const brake = z.strictObject(
  {
    kinds: z.array(z.string(someNames).min(1, someNames), someNames).min(1, someNames),
    share: z.number(aShare).positive(aShare).max(1, aShare).optional(),
    suspicion: aFunction.optional(),
    onEngaged: aFunction.optional(),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? undefined
        : 'must be { kinds, share?, suspicion?, onEngaged? }',
  },
);

const OPTIONS = {
  postgres,
  redis,
  schema: z.string(orElse('a text')),
  driver: z.custom((value) => typeof value === 'string' || lacks(value).length === 0, {
    error: ({ input }) => {
      const words = 'must be a name or a TimerDriver';
      if (!isObject(input)) return words;
      return `${words}; it has no ${lacks(input).join(', ')} as one has`;
    },
  }),
  lock: having(['acquireFree', 'acquireOne', 'close'], 'a Lock'),
  role: z.enum(['ring', 'arm'], orElse('"ring" or "arm"')),
  migrate: z.boolean(orElse('true or false')),
  sweepIntervalMs: z
    .int(orElse('a whole number of milliseconds'))
    .positive(orElse('above 0'))
    .max(
      MOST_SWEEP_INTERVAL_MS,
      orElse(`at most ${MOST_SWEEP_INTERVAL_MS} (5 min): only sweeps see what is due in an hour`),
    ),
  drainers: z
    .int(orElse('a whole number'))
    .min(1, orElse('at least 1'))
    .max(MOST_DRAINERS, orElse(`at most ${MOST_DRAINERS}`)),
  standstillLimitMs: z
    .int(orElse('a whole number of milliseconds'))
    .min(
      LEAST_STANDSTILL_MS,
      orElse(
        `at least ${LEAST_STANDSTILL_MS}: a process with much to do pauses for longer than less`,
      ),
    )
    .max(
      MOST_STANDSTILL_MS,
      orElse(`at most ${MOST_STANDSTILL_MS}: silent for so long, a handler is given up`),
    ),
  brake,
  telemetry,
} satisfies Record<keyof TimeoutModuleOptions, z.ZodType>;

export const OPTION_NAMES = Object.keys(OPTIONS);

/** @throws {TypeError} naming every option that is wrong, and how it is right */
export function checkOptions(options: TimeoutModuleOptions): TimeoutModuleOptions {
  assertOptions('TimeoutModule', OPTIONS, ['postgres'], options);
  if (typeof options.driver === 'string') assertHasNeeds(options.driver, options);
  return options;
}

/** @throws {TypeError} for a name that is no text, or empty */
export function checkName(name: unknown = 'default'): string {
  if (typeof name === 'string' && name !== '') return name;
  throw new TypeError('TimeoutModule: `name` must be a text of one character or more');
}

/**
 * Where tables are, for who makes them; other options are left to who uses them.
 * @throws {TypeError} naming what is wrong, and how it is right
 */
export function checkPlace(
  of: string,
  options: Pick<TimeoutModuleOptions, 'postgres' | 'schema'>,
): Required<typeof options> {
  const { postgres, schema = 'lastcall' } = { ...options };
  assertOptions(of, { postgres: OPTIONS.postgres, schema: OPTIONS.schema }, ['postgres'], {
    postgres,
    schema,
  });
  return { postgres, schema };
}

/** Which option gives what a driver needs by this name. */
const GIVEN_BY: Readonly<Record<string, keyof TimeoutModuleOptions>> = { REDIS_URL: 'redis' };

/** Without its address a driver's library goes to this machine, or fails for ever. */
function assertHasNeeds(driver: string, options: TimeoutModuleOptions): void {
  for (const need of timerDriverKind(driver).needs) {
    const option = GIVEN_BY[need];
    if (option && options[option] !== undefined) continue;
    const wanted = option
      ? `the option \`${option}\``
      : `${need}, which no option gives: choose another, or give a TimerDriver of your own`;
    throw new TypeError(`TimeoutModule: driver "${driver}" needs ${wanted}`);
  }
}
