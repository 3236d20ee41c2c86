import {
  isUuid,
  LastcallError,
  type PageSession,
  PageSessions,
  type SessionPage,
} from '@app/orders';
import type { ScopeName } from '@app/orders/http';
import { Injectable } from '@nestjs/common';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyRequest } from 'fastify';
import type { Caller } from './caller';
import { invalidToken } from './invalid-token';
import { SCOPES_IN } from './token-scopes';

/** `__Host-`: only this host sets it, over HTTPS or on loopback, and for no other host. */
const CONSOLE_COOKIE = '__Host-lc-console';
const CHECKOUT_COOKIE = '__Host-lc-checkout-';
/** One for each order, so that two tabs with two orders do not log each other out. */
const checkoutCookie = (orderId: string): string => `${CHECKOUT_COOKIE}${orderId}`;
/** Browsers send all of them with each request: 4 kB, where proxies and Node refuse 8 and 16. */
const MOST_CHECKOUTS = 40;
/** Of a browser that has many more, as from before they were so few: proxies refuse answers with long heads, too. */
const MOST_FORGOTTEN = 10;

const BEARER = /^bearer\b/i;

interface Shown {
  readonly page: SessionPage;
  readonly token: string;
}

/**
 * Callers known by the cookie of a page that this API serves. A checkout's is good for its one order;
 * a console's for what its scopes grant.
 */
@Injectable()
export class PageAccess {
  constructor(private readonly sessions: PageSessions) {}

  /**
   * The cookie that could open this route; undefined for whoever sends a token, or none. A password is no token: a
   * browser that asked for one, as the queue board does, goes on to send it to all that is beside.
   */
  shown(request: FastifyRequest, scopes: readonly ScopeName[]): Shown | undefined {
    const { authorization, cookie } = request.headers;
    if (cookie === undefined || BEARER.test(authorization ?? '')) return undefined;
    const cookies = parseCookie(cookie);
    const orderId = orderIdOf(request);
    if (orderId !== undefined && scopes.includes('orders')) {
      const token = cookies[checkoutCookie(orderId)];
      if (token !== undefined) return { page: 'checkout', token };
    }
    const token = cookies[CONSOLE_COOKIE];
    return token === undefined ? undefined : { page: 'console', token };
  }

  /**
   * The caller, kept on the request as one with a token is.
   * @throws {LastcallError} unauthorized; forbidden, for a change that another site or port asks for
   */
  async identify(request: FastifyRequest, { page, token }: Shown): Promise<Caller> {
    if (!isSafe(request.method)) assertSameOrigin(request);
    const session = await this.sessions.find(page, token);
    const isForAnother = page === 'checkout' && session?.orderId !== orderIdOf(request);
    if (!session || isForAnother) throw invalidToken('This session has ended; open the page anew');
    return (request.caller = callerOf(session));
  }

  /** Whose session it is, while it is open; that alone opens nothing. */
  async subjectOf({ page, token }: Shown): Promise<string | undefined> {
    return (await this.sessions.find(page, token))?.subject;
  }

  /** The session behind a checkout's cookie for this order, if there is one. */
  async checkoutOf(request: FastifyRequest, orderId: string): Promise<PageSession | undefined> {
    const token = parseCookie(request.headers.cookie ?? '')[checkoutCookie(orderId)];
    const session = token ? await this.sessions.find('checkout', token) : undefined;
    return session?.orderId === orderId ? session : undefined;
  }
}

/** `Set-Cookie` for a session that was just opened. */
export function sessionCookie(token: string, session: PageSession): string {
  const { page, orderId, openedAt, endsAt } = session;
  const name = page === 'checkout' ? checkoutCookie(orderId ?? '') : CONSOLE_COOKIE;
  // A span of the database's clock: by an instant, a browser goes by its own clock, or by ours.
  const lastsMs = endsAt.getTime() - (openedAt ?? endsAt).getTime();
  return cookie(name, token, Math.max(0, Math.floor(lastsMs / 1_000)));
}

/** `Set-Cookie` that takes a console's cookie away. */
export const forgetConsole = (): string => cookie(CONSOLE_COOKIE, '', 0);

/** `Set-Cookie` for each of the oldest checkouts of this browser, where it has many beside the one for this order. */
export function forgetOldCheckouts(request: FastifyRequest, orderId: string): string[] {
  const names = Object.keys(parseCookie(request.headers.cookie ?? ''));
  // Browsers send the oldest first.
  const others = names.filter((name) => isCheckout(name) && name !== checkoutCookie(orderId));
  const tooMany = Math.max(0, others.length - (MOST_CHECKOUTS - 1));
  return others.slice(0, Math.min(tooMany, MOST_FORGOTTEN)).map((name) => cookie(name, '', 0));
}

const isCheckout = (name: string): boolean =>
  name.startsWith(CHECKOUT_COOKIE) && isUuid(name.slice(CHECKOUT_COOKIE.length));

function cookie(name: string, value: string, maxAge: number): string {
  const attributes = { path: '/', secure: true, httpOnly: true } as const;
  // Whoever comes back from the provider's page comes from another site: Strict would forget them.
  const sameSite = name === CONSOLE_COOKIE ? 'strict' : 'lax';
  return stringifySetCookie({ name, value, ...attributes, sameSite, maxAge });
}

/**
 * A browser says where a request comes from, and a page cannot change it. `same-site` is not enough:
 * another port of this host is that.
 */
export function isSameOrigin(request: FastifyRequest): boolean {
  return request.headers['sec-fetch-site'] === 'same-origin';
}

/** @throws {LastcallError} forbidden, unless a page of ours asks */
export function assertSameOrigin(request: FastifyRequest): void {
  if (isSameOrigin(request)) return;
  const message = 'A page of this address has to ask for it (Sec-Fetch-Site: same-origin)';
  throw new LastcallError('forbidden', message);
}

/** The scopes that a session's names grant. */
function scopesOf(names: readonly string[]): Set<ScopeName> {
  return new Set(names.flatMap((name) => SCOPES_IN[name] ?? []));
}

function callerOf({ subject, scopes, endsAt }: PageSession): Caller {
  return { subject, scopes: scopesOf(scopes), expiresAtMs: endsAt.getTime(), isOfPage: true };
}

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD';

function orderIdOf(request: FastifyRequest): string | undefined {
  const { id } = request.params as { id?: string };
  return id !== undefined && isUuid(id) ? id.toLowerCase() : undefined;
}
