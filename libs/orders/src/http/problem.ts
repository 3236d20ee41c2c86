import { ERROR_STATUS, type ErrorCode } from '../order/errors';
import type { FieldError } from '../order/read-input';

export const PROBLEM_TYPE = 'application/problem+json';

/** Codes of faults that never reach the domain, by the HTTP status they mean. */
export const HTTP_ERROR_CODES = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  408: 'request_timeout',
  413: 'body_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  431: 'headers_too_large',
  503: 'unavailable',
} as const;

export type ProblemCode = ErrorCode | (typeof HTTP_ERROR_CODES)[keyof typeof HTTP_ERROR_CODES];

/** The body of every answer of 400 and above (RFC 9457); further members are facts of its code. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ProblemCode;
  readonly instance?: string;
  readonly errors?: readonly FieldError[];
  readonly [fact: string]: unknown;
}

export function problem(
  code: ProblemCode,
  detail: string,
  facts: Readonly<Record<string, unknown>> = {},
): Problem {
  const status = statusOf(code);
  const title = code[0]?.toUpperCase() + code.slice(1).replaceAll('_', ' ');
  const members = { type: `urn:lastcall:problem:${code}`, title, status, detail, code };
  // Twice: they come first, and no fact takes the place of one.
  return { ...members, ...facts, ...members };
}

export function statusOf(code: ProblemCode): number {
  if (code in ERROR_STATUS) return ERROR_STATUS[code as ErrorCode];
  const entry = Object.entries(HTTP_ERROR_CODES).find(([, name]) => name === code);
  return Number(entry?.[0] ?? 500);
}

export function codeOf(status: number): ProblemCode {
  const codes: Partial<Record<number, ProblemCode>> = HTTP_ERROR_CODES;
  return codes[status] ?? (status < 500 ? 'invalid_request' : 'internal_error');
}
