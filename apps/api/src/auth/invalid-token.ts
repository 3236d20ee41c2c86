import { LastcallError } from '@app/orders';

/** The refusal of a token that was sent (RFC 6750). */
export function invalidToken(message: string, cause?: unknown): LastcallError {
  return new LastcallError('unauthorized', message, { error: 'invalid_token' }, { cause });
}

/** Of one that is signed as it has to be: who can sign is told what is wrong with the rest. */
export function wrongClaim(claim: string, cause?: unknown): LastcallError {
  return invalidToken(`The token's ${claim} is missing, or not what it must be`, cause);
}
