import { HttpException } from '@nestjs/common';
import { refusalOfDatabase } from '../order/database-refusal';
import { ERROR_STATUS, LastcallError } from '../order/errors';
import { shortened } from '../order/shortened';
import { codeOf, problem, type Problem, type ProblemCode } from './problem';

/** How an error is answered, and whether it is a fault of ours that belongs in the log. */
export interface ErrorAnswer {
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;
  readonly isFault: boolean;
}

/** Seconds after which trying again is worth it, for codes that say nothing more exact. */
export const RETRY_AFTER_SECONDS: Partial<Record<ProblemCode, number>> = {
  busy: 1,
  unavailable: 2,
  rate_limited: 1,
  // An open order ends by itself, with its payment window, in minutes.
  too_many_open_orders: 60,
};

/** Fastify's and Nest's own words where they would say too little, or too much. */
const DETAILS: Partial<Record<number, string>> = {
  404: 'There is nothing at this address',
  413: 'The body is larger than this route takes',
  414: 'The address has a part that is too long',
  415: 'Send the body as application/json',
};

/** The answer to any error whatever: never a stack, never SQL, never a message of unknown origin. */
export function answerTo(error: unknown): ErrorAnswer {
  if (error instanceof LastcallError) return answerToRefusal(error);
  if (error instanceof HttpException && error.getStatus() < 500) {
    return { problem: problemOfHttp(error), headers: {}, isFault: false };
  }
  const refusal = refusalOfDatabase(error);
  // Also where it refuses what was sent: it may be a provider's webhook, which nobody reads the answer of.
  if (refusal) return { ...answerToRefusal(refusal), isFault: true };
  const answer = problem('internal_error', 'Something went wrong on our side; it has been logged');
  return { problem: answer, headers: {}, isFault: true };
}

function answerToRefusal(error: LastcallError): ErrorAnswer {
  const { code, message, fields } = error;
  return {
    problem: problem(code, message, fields),
    headers: headersOf(code, fields),
    // What was said on purpose, such as "shutting down", has no cause and is no news to us.
    isFault: code === 'internal_error' || (ERROR_STATUS[code] >= 500 && error.cause !== undefined),
  };
}

function problemOfHttp(error: HttpException): Problem {
  const status = error.getStatus();
  const code = codeOf(status);
  const answer = problem(code, DETAILS[status] ?? shortened(error.message));
  return { ...answer, status };
}

function headersOf(
  code: ProblemCode,
  fields: Readonly<Record<string, unknown>>,
): Record<string, string> {
  if (code === 'unauthorized') {
    const error = fields.error === 'invalid_token' ? ', error="invalid_token"' : '';
    return { 'www-authenticate': `Bearer realm="lastcall"${error}` };
  }
  if (code === 'forbidden') {
    const scope = typeof fields.requiredScope === 'string' ? fields.requiredScope : '';
    const challenge = `Bearer realm="lastcall", error="insufficient_scope", scope="${scope}"`;
    return { 'www-authenticate': challenge };
  }
  const seconds = fields.retryAfterSeconds ?? RETRY_AFTER_SECONDS[code];
  return typeof seconds === 'number' ? { 'retry-after': String(Math.ceil(seconds)) } : {};
}
