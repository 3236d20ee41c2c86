import { z } from 'zod';
import { LastcallError } from './errors';
import { shortened } from './shortened';

export interface FieldError {
  /** As in `items[0].quantity`, or the name of a header or query parameter. */
  readonly field: string;
  readonly message: string;
}

/** Of a name that a caller has made up. */
const MOST_OF_A_NAME = 100;
/** More errors than a person mends at once say nothing more. */
const MAX_ERRORS = 20;

/**
 * Reads what a caller has sent by a schema.
 * @throws {LastcallError} invalid_request, naming each field that is wrong and why
 */
export function readInput<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw invalidInput(withoutRepeats(result.error.issues.flatMap(fieldErrors)));
}

export function invalidInput(errors: readonly FieldError[]): LastcallError {
  const [first] = errors;
  const message = first ? `${first.field}: ${first.message}` : 'The request is not valid';
  return new LastcallError('invalid_request', message, { errors: errors.slice(0, MAX_ERRORS) });
}

/** Two rules that one value breaks, such as "whole" and "at most", may say the same. */
function withoutRepeats(errors: readonly FieldError[]): FieldError[] {
  return [...new Map(errors.map((error) => [JSON.stringify(error), error])).values()];
}

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const field = fieldName(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: fieldName([...issue.path, key]),
      message: 'is not a field of this request',
    }));
  }
  return [{ field: field || 'body', message: phrase(issue) }];
}

const KINDS: Readonly<Partial<Record<string, string>>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
};

function phrase(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    return issue.message.endsWith('received undefined')
      ? 'is missing'
      : `must be ${KINDS[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'invalid_value') return `must be one of: ${issue.values.join(', ')}`;
  return issue.message;
}

function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === 'number') return `${name}[${part}]`;
    const key = shortened(String(part), MOST_OF_A_NAME);
    return name ? `${name}.${key}` : key;
  }, '');
}

/** A field that is not there is said to be missing, and not to be of a wrong kind. */
export const unlessMissing = (message: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? undefined : message),
});

export const wholeNumber = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.int(unlessMissing(message)).min(min, message).max(max, message);
};
