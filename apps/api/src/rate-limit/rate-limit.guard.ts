import { LastcallError } from '@app/orders';
import { Access, Costly, Unlimited } from '@app/orders/http';
import { withTimeLimit } from '@app/timeout';
import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Authenticator } from '../auth/authenticator';
import { PageAccess } from '../auth/page-access';
import { clientKey } from './client-address';
import { KnownSubjects } from './known-subjects';
import { tellLimit } from './rate-limit-headers';

const MINUTE_MS = 60_000;
/** Sessions looked up for one address: enough for the buyers behind it, and no way to keep the database busy. */
const LOOKUPS_A_MINUTE = 300;
/** A database that is away, and an issuer's keys, are waited for by who needs them for the answer. */
const LOOKUP_LIMIT_MS = 500;

/**
 * So many requests a customer, whatever the route and the address, known by a token or by the cookie
 * of a page; for callers without a valid one, so many an address. It runs before access is checked, so that guessing
 * is limited too.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  @Inject(Authenticator) private readonly authenticator!: Authenticator;

  @Inject(PageAccess) private readonly pages!: PageAccess;
  readonly #known = new KnownSubjects();
  readonly #keys = new WeakMap<FastifyRequest, Promise<string>>();

  protected override async shouldSkip(context: ExecutionContext): Promise<boolean> {
    return this.reflector.get(Unlimited, context.getClass()) ?? false;
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const isWelcome = await super.canActivate(context);
    const costly = this.reflector.get(Costly, context.getHandler());
    if (costly) await this.#limitCostly(context, costly);
    return isWelcome;
  }

  /** Beside the count of all requests: what makes somebody else work for each of them. */
  async #limitCostly(context: ExecutionContext, limit: number): Promise<void> {
    // By the handler's name: to pay is one thing, whether by the API or by a page.
    const what = context.getHandler().name;
    const key = `costly ${what} ${await this.#keyOf(context)}`;
    const counted = await this.storageService.increment(key, MINUTE_MS, limit, 0, 'costly');
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const name = what === 'pay' ? 'payments' : 'costly';
    tellLimit(reply, { name, limit, windowMs: MINUTE_MS }, counted);
    if (!counted.isBlocked) return;
    const { timeToBlockExpire: retryAfterSeconds } = counted;
    const message = `That is more than ${limit} a minute; try again in ${retryAfterSeconds} s`;
    throw new LastcallError('rate_limited', message, { retryAfterSeconds });
  }

  /** One count for all routes; every answer says what is left of it. */
  protected override async handleRequest({
    context,
    limit,
    ttl: windowMs,
  }: ThrottlerRequest): Promise<boolean> {
    const http = context.switchToHttp();
    const key = await this.#keyOf(context);
    const counted = await this.storageService.increment(key, windowMs, limit, 0, 'default');
    tellLimit(http.getResponse<FastifyReply>(), { name: 'requests', limit, windowMs }, counted);
    if (!counted.isBlocked) return true;
    const { timeToBlockExpire: retryAfterSeconds } = counted;
    const message = `That is more than ${limit} requests; try again in ${retryAfterSeconds} s`;
    throw new LastcallError('rate_limited', message, { retryAfterSeconds });
  }

  /** Whom a request counts for, found out once. */
  #keyOf(context: ExecutionContext): Promise<string> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const key = this.#keys.get(request) ?? this.#findKey(context, request);
    this.#keys.set(request, key);
    return key;
  }

  async #findKey(context: ExecutionContext, request: FastifyRequest): Promise<string> {
    const address = clientKey(request.ip);
    try {
      const subject =
        (await this.#subjectOfCookie(context, request, address)) ??
        (await this.#subjectOfToken(request));
      return `customer ${subject}`;
    } catch {
      // The access guard answers for what is wrong with the token, or with the database.
      return `address ${address}`;
    }
  }

  async #subjectOfToken(request: FastifyRequest): Promise<string> {
    const caller = this.authenticator.identify(request);
    if (!(caller instanceof Promise)) return caller.subject;
    return (await withTimeLimit(caller, LOOKUP_LIMIT_MS, 'No token was verified in time')).subject;
  }

  async #subjectOfCookie(
    context: ExecutionContext,
    request: FastifyRequest,
    address: string,
  ): Promise<string | undefined> {
    const access = this.reflector.getAllAndOverride(Access, [
      context.getHandler(),
      context.getClass(),
    ]);
    // A page of an order is open to anybody, and shows the order by the order's cookie.
    const shown = this.pages.shown(request, Array.isArray(access) ? access : ['orders']);
    if (!shown) return undefined;
    const known = this.#known.get(shown.token);
    if (known !== undefined) return known;
    const key = `lookups ${address}`;
    const storage = this.storageService;
    const { isBlocked } = await storage.increment(key, MINUTE_MS, LOOKUPS_A_MINUTE, 0, 'lookups');
    if (isBlocked) return undefined;
    const looking = this.pages.subjectOf(shown);
    const subject = await withTimeLimit(looking, LOOKUP_LIMIT_MS, 'No session was found in time');
    if (subject !== undefined) this.#known.set(shown.token, subject);
    return subject;
  }
}
