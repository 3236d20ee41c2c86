import { type Config, CONFIG, LastcallError } from '@app/orders';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import {
  createRemoteJWKSet,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import type { Caller } from './caller';

const MAX_TOKEN_LENGTH = 8_192;
/** A subject becomes a column and a label: 1 to 200 characters, none of them for control. */
const SUBJECT = /^\P{Cc}{1,200}$/u;
/** A few megabytes of tokens at the most; the oldest gives way. */
const MAX_REMEMBERED = 10_000;
/** A token without `exp` is verified again after this, in case a key has been withdrawn. */
const MAX_REMEMBERED_MS = 5 * 60_000;
const JWKS_TIMEOUT_MS = 3_000;

/** Algorithms are pinned: a token cannot choose how it is verified. */
const SECRET_OPTIONS: JWTVerifyOptions = { algorithms: ['HS256'], requiredClaims: ['sub'] };
const JWKS_OPTIONS: JWTVerifyOptions = {
  algorithms: ['RS256', 'ES256', 'EdDSA'],
  requiredClaims: ['sub'],
};

type Verify = (token: string) => Promise<JWTPayload>;

/** Turns the `Authorization` header into a caller. Verified tokens are remembered until they end. */
@Injectable()
export class Authenticator {
  readonly #remembered = new Map<string, { caller: Caller; untilMs: number }>();
  readonly #verify: Verify;

  constructor(@Inject(CONFIG) config: Config) {
    this.#verify = config.AUTH_JWKS_URL
      ? verifyByJwks(new URL(config.AUTH_JWKS_URL))
      : verifyBySecret(config.AUTH_JWT_SECRET ?? '');
  }

  /**
   * The caller of a request, which is also kept on it. Answers without a promise for a token that
   * is remembered: this runs on every request.
   * @throws {LastcallError} unauthorized; unavailable when the issuer's keys cannot be had
   */
  identify(request: FastifyRequest): Caller | Promise<Caller> {
    if (request.caller) return request.caller;
    const token = bearerToken(request.headers.authorization);
    const remembered = this.#remembered.get(token);
    if (remembered && remembered.untilMs > Date.now()) {
      request.caller = remembered.caller;
      return remembered.caller;
    }
    return this.#admit(token).then((caller) => (request.caller = caller));
  }

  async #admit(token: string): Promise<Caller> {
    const caller = toCaller(await this.#verified(token));
    if (this.#remembered.size >= MAX_REMEMBERED) {
      const [oldest] = this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
    }
    const untilMs = Math.min(caller.expiresAtMs, Date.now() + MAX_REMEMBERED_MS);
    this.#remembered.delete(token);
    this.#remembered.set(token, { caller, untilMs });
    return caller;
  }

  async #verified(token: string): Promise<JWTPayload> {
    try {
      return await this.#verify(token);
    } catch (cause) {
      if (cause instanceof errors.JWTExpired) throw invalidToken('The token has expired', cause);
      if (areKeysMissing(cause)) {
        const message = "The token issuer's keys cannot be fetched; try again soon";
        throw new LastcallError('unavailable', message, {}, { cause });
      }
      throw invalidToken('The token is not valid', cause);
    }
  }
}

function verifyBySecret(secret: string): Verify {
  // Imported once; with the plain bytes jose would do it for every token.
  const key = crypto.subtle.importKey(
    'raw',
    new TextEncoder().encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  );
  return async (token) => (await jwtVerify(token, await key, SECRET_OPTIONS)).payload;
}

function verifyByJwks(url: URL): Verify {
  const keys: JWTVerifyGetKey = createRemoteJWKSet(url, { timeoutDuration: JWKS_TIMEOUT_MS });
  return async (token) => (await jwtVerify(token, keys, JWKS_OPTIONS)).payload;
}

/** True when the fault is the issuer's or the network's, and not the token's. */
function areKeysMissing(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true;
  // jose reports an answer that is no key set with its base class, and fetch throws a TypeError.
  const isBase = error instanceof errors.JOSEError && error.code === 'ERR_JOSE_GENERIC';
  return isBase || !(error instanceof errors.JOSEError);
}

function bearerToken(header: string | undefined): string {
  if (!header) {
    throw new LastcallError('unauthorized', 'Send a token: Authorization: Bearer <JWT>');
  }
  const token = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1];
  if (token && token.length <= MAX_TOKEN_LENGTH) return token;
  throw invalidToken('The Authorization header is not "Bearer <JWT>"');
}

function toCaller({ sub, exp, scope }: JWTPayload): Caller {
  if (typeof sub !== 'string' || !SUBJECT.test(sub)) {
    throw invalidToken("The token's sub must have 1 to 200 characters");
  }
  const scopes = typeof scope === 'string' ? scope.split(' ') : Array.isArray(scope) ? scope : [];
  return {
    subject: sub,
    scopes: new Set(scopes.filter((name): name is string => typeof name === 'string')),
    expiresAtMs: exp === undefined ? Infinity : exp * 1_000,
  };
}

function invalidToken(message: string, cause?: unknown): LastcallError {
  return new LastcallError('unauthorized', message, { error: 'invalid_token' }, { cause });
}
