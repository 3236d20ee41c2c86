import { LastcallError } from '@app/orders';
import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerLimitDetail } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { Authenticator } from '../auth/authenticator';

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
      return `address ${await super.getTracker(request)}`;
    }
  }

  /** One count for all routes. */
  protected override generateKey(_context: ExecutionContext, tracker: string): string {
    return tracker;
  }

  protected override throwThrottlingException(
    _context: ExecutionContext,
    { timeToBlockExpire: retryAfterSeconds, limit }: ThrottlerLimitDetail,
  ): Promise<void> {
    const message = `That is more than ${limit} requests; try again in ${retryAfterSeconds} s`;
    throw new LastcallError('rate_limited', message, { retryAfterSeconds });
  }
}
