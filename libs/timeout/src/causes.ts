import { types } from 'node:util';

// Node's own errors are of another realm under some test runners, where `instanceof` fails.
const isError = (value: unknown): value is Error =>
  types.isNativeError(value) || value instanceof Error;

/**
 * An error and what has caused it, and so on: each once, as somebody's may lead back to itself, and who followed that
 * would never end.
 */
export function* causesOf(
  error: unknown,
  causeOf: (one: Error) => unknown = (one) => one.cause,
): Generator<Error> {
  const seen = new Set<unknown>();
  for (let cause = error; isError(cause) && !seen.has(cause); cause = causeOf(cause)) {
    seen.add(cause);
    yield cause;
  }
}

/** What an error says. That of an address with several numbers says nothing itself, but those of each. */
export function wordsOf(error: Error): string {
  const { errors } = error as { errors?: unknown };
  if (error.message !== '' || !Array.isArray(errors)) return error.message;
  return errors
    .filter(isError)
    .map(({ message }) => message)
    .join('; ');
}
