import type { FastifyReply } from 'fastify';

export interface Limit {
  /** `costly`: what makes somebody else work, but to pay; each such route has a count of its own. */
  readonly name: 'requests' | 'payments' | 'costly';
  readonly limit: number;
  readonly windowMs: number;
}

/**
 * Says how many requests are left, as in draft-ietf-httpapi-ratelimit-headers-10: quota and window
 * of each limit, and what remains until it begins anew, in seconds.
 */
export function tellLimit(
  reply: FastifyReply,
  { name, limit, windowMs }: Limit,
  { totalHits, timeToExpire }: { readonly totalHits: number; readonly timeToExpire: number },
): void {
  const left = Math.max(0, limit - totalHits);
  append(reply, 'ratelimit-policy', `"${name}";q=${limit};w=${windowMs / 1_000}`);
  append(reply, 'ratelimit', `"${name}";r=${left};t=${timeToExpire}`);
}

/** A list of several limits is one header. */
function append(reply: FastifyReply, header: string, item: string): void {
  const before = reply.getHeader(header);
  reply.header(header, typeof before === 'string' ? `${before}, ${item}` : item);
}
