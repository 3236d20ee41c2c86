import { STATUS_CODES } from 'node:http';
import type { ZodError, ZodType } from 'zod';

export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/** A refusal the caller can read: becomes an `application/problem+json` answer (RFC 9457). */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** More members of the problem document, e.g. the payment that was already paid. */
    readonly members: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = 'Refusal';
  }
}

export function problem(status: number, code: string, detail: string, members = {}): object {
  const title = STATUS_CODES[status] ?? 'Error';
  return { type: 'about:blank', title, status, code, detail, ...members };
}

/** The value in its checked form, or a refusal that names each field that is wrong. */
export function check<T>(schema: ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(fieldErrors(result.error));
}

export function invalid(errors: readonly FieldError[]): Refusal {
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new Refusal(400, 'invalid_request', detail, { errors });
}

export function fieldErrors(error: ZodError): FieldError[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        field: [...issue.path, key].join('.'),
        message: 'unknown field',
      }));
    }
    return [{ field: issue.path.join('.') || 'body', message: issue.message }];
  });
}
