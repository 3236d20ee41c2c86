import type { FastifyReply, FastifyRequest } from 'fastify';

/** Answers are data: whoever opens one in a browser gets nothing that runs, and no frame. */
const CONTENT_POLICY = "default-src 'none'; frame-ancestors 'none'";
/** The two pages that others have written: their own scripts, and the styles they put into tags. */
const PAGE_POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
  "base-uri 'self'; form-action 'self'; frame-ancestors 'none'";
const PAGES = /^\/(docs|v1\/ops\/queues)(\/|\?|$)/;

/** For answers that are written without Fastify. */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': CONTENT_POLICY,
  'cache-control': 'no-store',
} as const;

/** A Fastify `onSend` hook; a route that has said something of its own is left alone. */
export function addSecurityHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  const isPage = PAGES.test(request.url);
  for (const name of NAMES) {
    if (reply.hasHeader(name)) continue;
    // Scripts and styles of the pages are anybody's; what customers and operators read is not.
    if (isPage && name === 'cache-control' && request.url.startsWith('/docs')) continue;
    const isPolicy = name === 'content-security-policy';
    reply.header(name, isPage && isPolicy ? PAGE_POLICY : SECURITY_HEADERS[name]);
  }
  done(null, payload);
}

const NAMES = Object.keys(SECURITY_HEADERS) as (keyof typeof SECURITY_HEADERS)[];
