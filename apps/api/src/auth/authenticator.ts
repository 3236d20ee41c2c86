import { type Config, LastcallError } from '@app/orders';
import { isSubject, SUBJECT_RULE } from '@app/orders/http';
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
import { API_CONFIG } from '../api-config';
import type { Caller } from './caller';
import { invalidToken, wrongClaim } from './invalid-token';
import { verifyBySecret } from './shared-secret';
import { SCOPES_IN } from './token-scopes';

const MAX_TOKEN_LENGTH = 8_192;
/** A few megabytes of tokens at the most; the oldest gives way. */
const MAX_REMEMBERED = 10_000;
/** Keys are fetched again after this, and tokens verified again after this: a key that was withdrawn
 * is believed for five minutes at the most. */
const KEYS_MAX_AGE_MS = 150_000;
const MAX_REMEMBERED_MS = 150_000;
const JWKS_TIMEOUT_MS = 3_000;
/** The issuer's clock may be ahead of ours by so much. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Algorithms are pinned: a token cannot choose how it is verified. */
const JWKS_ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

type Verify = (token: string) => JWTPayload | Promise<JWTPayload>;
type AuthSettings = Pick<
  Config,
  'AUTH_JWKS_URL' | 'AUTH_JWT_SECRET' | 'AUTH_ISSUER' | 'AUTH_AUDIENCE' | 'AUTH_MAX_AGE'
>;

/** Turns the `Authorization` header into a caller. Verified tokens are remembered until they end. */
@Injectable()
export class Authenticator {
  readonly #remembered = new Map<string, { caller: Caller; untilMs: number }>();
  /** Each by the issuer's keys, which are asked for once a request, also where they cannot be had. */
  readonly #verifying = new WeakMap<FastifyRequest, Promise<Caller>>();
  readonly #verify: Verify;
  readonly #maxAgeMs: number;

  constructor(@Inject(API_CONFIG) config: AuthSettings) {
    this.#maxAgeMs = config.AUTH_MAX_AGE;
    this.#verify = config.AUTH_JWKS_URL
      ? verifyByJwks(new URL(config.AUTH_JWKS_URL), demands(config, JWKS_ALGORITHMS))
      : verifyBySecret(config.AUTH_JWT_SECRET ?? '', {
          issuer: config.AUTH_ISSUER,
          audience: config.AUTH_AUDIENCE,
        });
  }

  /**
   * The caller of a request, which is also kept on it. Answers without a promise where no keys have
   * to be fetched, and for a token that is remembered: this runs on every request.
   * @throws {LastcallError} unauthorized; unavailable when the issuer's keys cannot be had
   */
  identify(request: FastifyRequest): Caller | Promise<Caller> {
    const known = request.caller ?? this.#verifying.get(request);
    if (known) return known;
    const token = bearerToken(request.headers.authorization);
    const remembered = this.#remembered.get(token);
    if (remembered && remembered.untilMs > Date.now()) {
      request.caller = remembered.caller;
      return remembered.caller;
    }
    const payload = this.#verify(token);
    if (!(payload instanceof Promise)) return (request.caller = this.#admit(token, payload));
    const caller = payload.then((verified) => (request.caller = this.#admit(token, verified)));
    this.#verifying.set(request, caller);
    return caller;
  }

  #admit(token: string, payload: JWTPayload): Caller {
    refuseOld(payload, this.#maxAgeMs);
    const caller = toCaller(payload);
    if (this.#remembered.size >= MAX_REMEMBERED) {
      const [oldest] = this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
    }
    const untilMs = Math.min(caller.expiresAtMs, Date.now() + MAX_REMEMBERED_MS);
    this.#remembered.delete(token);
    this.#remembered.set(token, { caller, untilMs });
    return caller;
  }
}

/** Whoever may sign tokens for others with the same keys must not get in here with those. */
function demands(
  { AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience }: AuthSettings,
  algorithms: string[],
): JWTVerifyOptions {
  return {
    algorithms,
    requiredClaims: ['sub', 'exp'],
    ...(issuer === undefined ? {} : { issuer }),
    ...(audience === undefined ? {} : { audience }),
  };
}

/** A token that is good for ever is a password that nobody can change. */
function refuseOld({ iat, exp = Infinity }: JWTPayload, maxAgeMs: number): void {
  const now = Date.now();
  const isTooLong = exp * 1_000 > now + maxAgeMs + CLOCK_TOLERANCE_MS;
  const isTooOld = iat !== undefined && iat * 1_000 < now - maxAgeMs;
  if (isTooLong || isTooOld) {
    throw invalidToken(
      `The token may be good for ${maxAgeMs / 1_000} s at the most (AUTH_MAX_AGE)`,
    );
  }
}

function verifyByJwks(url: URL, options: JWTVerifyOptions): Verify {
  const keys: JWTVerifyGetKey = createRemoteJWKSet(url, {
    timeoutDuration: JWKS_TIMEOUT_MS,
    cacheMaxAge: KEYS_MAX_AGE_MS,
  });
  return async (token) => {
    try {
      return (await jwtVerify(token, keys, options)).payload;
    } catch (cause) {
      if (cause instanceof errors.JWTExpired) throw invalidToken('The token has expired', cause);
      if (areKeysMissing(cause)) {
        const message = "The token issuer's keys cannot be fetched; try again soon";
        throw new LastcallError('unavailable', message, {}, { cause });
      }
      if (cause instanceof errors.JWTClaimValidationFailed) throw wrongClaim(cause.claim, cause);
      throw invalidToken('The token is not valid', cause);
    }
  };
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
  if (!isSubject(sub)) {
    throw invalidToken(`The token's sub ${SUBJECT_RULE}`);
  }
  const scopes = typeof scope === 'string' ? scope.split(' ') : Array.isArray(scope) ? scope : [];
  return {
    subject: sub,
    scopes: new Set(scopes.flatMap((name) => SCOPES_IN[String(name)] ?? [])),
    expiresAtMs: (exp as number) * 1_000,
  };
}
