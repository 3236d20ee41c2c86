import { LastcallError } from '@app/orders';
import { Costly, Unlimited } from '@app/orders/http';
import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Authenticator } from '../auth/authenticator';
import { clientKey } from './client-address';
import { tellLimit } from './rate-limit-headers';

const MINUTE_MS = 60_000;

/**
 * So many requests a customer, whatever the route and the address; for callers without a valid
 * token, so many an address. It runs before access is checked, so that guessing is limited too.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  @Inject(Authenticator) private readonly authenticator!: Authenticator;

  protected override async getTracker(request: Record<string, unknown>): Promise<string> {
    try {
      const caller = await this.authenticator.identify(request as unknown as FastifyRequest);
      return `customer ${caller.subject}`;
    } catch {
      // The access guard answers for what is wrong with the token.
      return `address ${clientKey((request as unknown as FastifyRequest).ip)}`;
    }
  }

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
    const request = context.switchToHttp().getRequest<Record<string, unknown>>();
    const key = `costly ${await this.getTracker(request)}`;
    const counted = await this.storageService.increment(key, MINUTE_MS, limit, 0, 'costly');
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    tellLimit(reply, { name: 'payments', limit, windowMs: MINUTE_MS }, counted);
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
    const key = await this.getTracker(http.getRequest<Record<string, unknown>>());
    const counted = await this.storageService.increment(key, windowMs, limit, 0, 'default');
    tellLimit(http.getResponse<FastifyReply>(), { name: 'requests', limit, windowMs }, counted);
    if (!counted.isBlocked) return true;
    const { timeToBlockExpire: retryAfterSeconds } = counted;
    const message = `That is more than ${limit} requests; try again in ${retryAfterSeconds} s`;
    throw new LastcallError('rate_limited', message, { retryAfterSeconds });
  }
}
