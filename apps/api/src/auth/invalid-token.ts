import { LastcallError } from '@app/orders';

/** The refusal of a token that was sent (RFC 6750). */
export function invalidToken(message: string, cause?: unknown): LastcallError {
  return new LastcallError('unauthorized', message, { error: 'invalid_token' }, { cause });
}
