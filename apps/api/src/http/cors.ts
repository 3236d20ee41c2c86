import type { FastifyAdapter } from '@nestjs/platform-fastify';

/** What a shop's pages call. Webhooks and ops are for servers, and the document is same-origin. */
const STOREFRONT = /^\/v1\/(products|orders)(\/|\?|$)/;
/** Chromium forgets an answer after two hours at the latest; a change of the list comes sooner. */
const PREFLIGHT_MAX_AGE_S = 600;

const HEADERS_TAKEN = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'last-event-id',
];
/** What pages may read beside the few that the standard lets them. */
const HEADERS_SHOWN = [
  'date',
  'etag',
  'idempotent-replayed',
  'location',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
];

/**
 * Lets pages of these origins call the storefront's routes. Without credentials: a token comes in a
 * header, and no cookie of the API's ever goes with a request of another site.
 */
export function allowOrigins(adapter: FastifyAdapter, origins: ReadonlySet<string>): void {
  const options = {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: HEADERS_TAKEN,
    exposedHeaders: HEADERS_SHOWN,
    maxAge: PREFLIGHT_MAX_AGE_S,
    // An OPTIONS that is no preflight is answered like one: by what may be asked.
    strictPreflight: false,
  };
  const nothing = { origin: false };
  adapter.enableCors({
    delegator: ({ url }: { url: string }, answer: (error: null, options: object) => void) =>
      answer(null, STOREFRONT.test(url) ? options : nothing),
  });
}
