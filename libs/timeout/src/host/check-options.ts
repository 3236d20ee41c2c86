import { z } from 'zod';
import type { TimeoutModuleOptions } from './timeout-options';

/** For hosts whose options no compiler has looked at: JavaScript, and what comes from settings. */

/** What is said of an option whose value is of another kind. */
const orElse = (words: string) => ({ error: () => `must be ${words}` });

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const having = (methods: readonly string[], words: string) =>
  z.custom(
    (value) => isObject(value) && methods.every((name) => typeof value[name] === 'function'),
    orElse(words),
  );

const postgres = z.custom((value) => {
  const [only, ...more] = Object.entries(isObject(value) ? value : {});
  if (!only || more.length > 0) return false;
  const [name, place] = only;
  if (name === 'url') return typeof place === 'string' && place !== '';
  if (!isObject(place)) return false;
  return name === 'dataSource' ? typeof place.query === 'function' : name === 'pool';
}, orElse("one of { url }, { dataSource } (TypeORM's) and { pool } (node-postgres')"));

const OPTIONS = z.strictObject({
  postgres,
  redis: z.union([z.string(), having([], '')], orElse('a URL, options or a client of ioredis')),
  schema: z.string(orElse('a text')),
  driver: z.union([z.string(), having(['start', 'stop'], '')], orElse('a name or a TimerDriver')),
  lock: having(['acquireFree', 'acquireOne', 'close'], 'a Lock'),
  role: z.enum(['ring', 'arm'], orElse('"ring" or "arm"')),
  migrate: z.boolean(orElse('true or false')),
  sweepIntervalMs: z.int(orElse('a whole number of milliseconds')).positive(orElse('above 0')),
  telemetry: having(['failed'], 'a TimeoutTelemetry'),
} satisfies Record<keyof TimeoutModuleOptions, z.ZodType>);

const KNOWN = Object.keys(OPTIONS.shape).join(', ');

/** @throws {TypeError} naming every option that is wrong, and how it is right */
export function checkOptions(options: TimeoutModuleOptions): TimeoutModuleOptions {
  const given = { postgres: undefined, ...withoutUndefined(options) };
  const { error } = OPTIONS.partial().extend({ postgres }).safeParse(given);
  if (!error) return options;
  const wrong = error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `there is no option ${issue.keys.map((key) => `"${key}"`).join(', ')}; there are: ${KNOWN}`
      : `\`${issue.path.join('.')}\` ${issue.message}`,
  );
  throw new TypeError(`TimeoutModule: ${wrong.join('; ')}`);
}

const withoutUndefined = (given: object | undefined): object =>
  Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined));
