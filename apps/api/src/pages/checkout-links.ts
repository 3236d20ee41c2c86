import { type Config, PageSessions } from '@app/orders';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { API_CONFIG } from '../api-config';
import type { Caller } from '../auth/caller';

const MINUTE_MS = 60_000;
const CODE_MS = 15 * MINUTE_MS;
/** Long enough to come back and read what became of the order. */
const SESSION_MS = 24 * 3_600_000;

export interface CheckoutLink {
  readonly orderId: string;
  readonly url: string;
  readonly expiresAt: string;
}

/** Links to the checkout of one order, each good for one browser. */
@Injectable()
export class CheckoutLinks {
  constructor(
    private readonly sessions: PageSessions,
    @Inject(API_CONFIG) private readonly config: Pick<Config, 'PUBLIC_URL'>,
  ) {}

  async create(
    request: FastifyRequest,
    orderId: string,
    customerId: string,
    lifetimeMs = SESSION_MS,
  ): Promise<CheckoutLink> {
    const { code, codeEndsAt } = await this.sessions.invite({
      ...{ page: 'checkout', subject: customerId, scopes: ['orders'], orderId },
      ...{ codeLifetimeMs: Math.min(CODE_MS, lifetimeMs), lifetimeMs },
    });
    const url = `${this.pageOf(request, orderId)}?code=${code}`;
    return { orderId, url, expiresAt: codeEndsAt.toISOString() };
  }

  /** One that a page asks for itself ends with the page's session: nobody goes on for ever by links to one order. */
  createAnother(request: FastifyRequest, orderId: string, caller: Caller): Promise<CheckoutLink> {
    // It is open by the database's clock, whatever ours says.
    const leftMs = caller.isOfPage
      ? Math.max(MINUTE_MS, caller.expiresAtMs - Date.now())
      : SESSION_MS;
    return this.create(request, orderId, caller.subject, Math.min(SESSION_MS, leftMs));
  }

  /** The page itself, for whoever has a session. */
  pageOf({ protocol, host }: FastifyRequest, orderId: string): string {
    return new URL(`/checkout/${orderId}`, this.config.PUBLIC_URL ?? `${protocol}://${host}`).href;
  }
}
