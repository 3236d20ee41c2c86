import { z } from 'zod';
import { assertOptions, having, isObject, orElse } from './option-kinds';
import type { TimeoutModuleOptions } from './timeout-options';

const postgres = z.custom((value) => {
  const [only, ...more] = Object.entries(isObject(value) ? value : {});
  if (!only || more.length > 0) return false;
  const [name, place] = only;
  if (name === 'url') return typeof place === 'string' && place !== '';
  if (!isObject(place)) return false;
  return name === 'dataSource' ? typeof place.query === 'function' : name === 'pool';
}, orElse("one of { url }, { dataSource } (TypeORM's) and { pool } (node-postgres')"));

const OPTIONS = {
  postgres,
  redis: z.union([z.string(), having([], '')], orElse('a URL, options or a client of ioredis')),
  schema: z.string(orElse('a text')),
  driver: z.union([z.string(), having(['start', 'stop'], '')], orElse('a name or a TimerDriver')),
  lock: having(['acquireFree', 'acquireOne', 'close'], 'a Lock'),
  role: z.enum(['ring', 'arm'], orElse('"ring" or "arm"')),
  migrate: z.boolean(orElse('true or false')),
  sweepIntervalMs: z.int(orElse('a whole number of milliseconds')).positive(orElse('above 0')),
  telemetry: having(['failed'], 'a TimeoutTelemetry'),
} satisfies Record<keyof TimeoutModuleOptions, z.ZodType>;

/** @throws {TypeError} naming every option that is wrong, and how it is right */
export function checkOptions(options: TimeoutModuleOptions): TimeoutModuleOptions {
  assertOptions('TimeoutModule', OPTIONS, ['postgres'], options);
  return options;
}
