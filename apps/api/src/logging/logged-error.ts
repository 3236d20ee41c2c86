import { stdSerializers } from 'pino';

/** Of Postgres: the row that a statement was refused for, and the values that it was sent with. */
const QUOTES_VALUES = new Set(['detail', 'where']);

/**
 * What is printed of an error, of its causes, and of the errors that it is made of: what it says. Drivers put beside
 * that what was sent, as `command` (ioredis: AUTH and its password, events), `parameters` (TypeORM: customers),
 * or a whole certificate: none of that is printed.
 */
export function loggedError(error: unknown): unknown {
  return withoutValues(stdSerializers.errWithCause(error as Error));
}

function withoutValues(printed: unknown): unknown {
  if (typeof printed !== 'object' || printed === null) return printed;
  const kept = Object.entries(printed).flatMap(([name, value]): [string, unknown][] => {
    if (name === 'aggregateErrors') return [[name, (value as unknown[]).map(withoutValues)]];
    if (isError(value)) return [[name, withoutValues(value)]];
    return typeof value === 'object' || QUOTES_VALUES.has(name) ? [] : [[name, value]];
  });
  return Object.fromEntries(kept);
}

/** As it is printed. */
const isError = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'stack' in value && 'message' in value;
