import Stripe from 'stripe';
import { LastcallError, reasonOf } from '../../order/errors';

type Failure = 'REFUSED' | 'NOT_MADE' | 'UNKNOWN';

/**
 * What an error of a call says about it, by docs.stripe.com/error-low-level and api/errors. A
 * conflict (409) is the same key being used at this moment, a key with other parameters is a bug of
 * ours, and before a 429 the SDK may have sent the call once already: of none of these is known what
 * was made.
 */
export function failureOf(error: unknown): { state: Failure; why: string } {
  return { state: stateOf(error), why: whyOf(error) };
}

/** Of a connection that fails the SDK says only that, and keeps beside it what has failed. */
function whyOf(error: unknown): string {
  const said = reasonOf(error);
  const { detail } = error as { detail?: unknown };
  return detail instanceof Error ? `${said} (${reasonOf(detail)})` : said;
}

function stateOf(error: unknown): Failure {
  if (!(error instanceof Stripe.errors.StripeError)) return 'UNKNOWN';
  switch (error.statusCode) {
    case 401:
    case 403:
      return 'NOT_MADE';
    case 400:
    case 402:
    case 404:
      return error instanceof Stripe.errors.StripeIdempotencyError ? 'UNKNOWN' : 'REFUSED';
    default:
      return 'UNKNOWN';
  }
}

/** Stripe keeps the first answer to a key for a day, a 500 too, and says that it is the kept one. */
export function isStoredFailure(error: unknown): boolean {
  return (
    error instanceof Stripe.errors.StripeError &&
    (error.statusCode ?? 0) >= 500 &&
    isReplayed(error.headers)
  );
}

export function isReplayed(headers: Readonly<Record<string, string>> | undefined): boolean {
  return headers?.['idempotent-replayed'] === 'true';
}

export function isMissing(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeError && error.code === 'resource_missing';
}

export function isRefused(error: unknown): error is Error {
  return failureOf(error).state === 'REFUSED';
}

export function providerError(message: string, cause: unknown): LastcallError {
  const { why } = failureOf(cause);
  return new LastcallError(
    'provider_error',
    `${message}; try again in a moment`,
    { why },
    { cause },
  );
}

export function unknown(error: unknown): { state: 'UNKNOWN'; why: string } {
  return { state: 'UNKNOWN', why: failureOf(error).why };
}
