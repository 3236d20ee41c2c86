import type { Config } from '@app/orders';
import { problem } from '@app/orders/http';
import type { RouteOptions } from 'fastify';
import { clientKey } from '../rate-limit/client-address';
import { tellLimit } from '../rate-limit/rate-limit-headers';
import type { SharedCounts } from '../rate-limit/shared-counts';
import { sendProblem } from './send-problem';

/**
 * Limits the API's document and its page as everything else is: no guard of Nest's runs for them.
 * For Fastify's `onRoute` hook.
 */
export function limitDocument(
  route: Pick<RouteOptions, 'url' | 'onRequest'>,
  counts: Pick<SharedCounts, 'increment'>,
  { limit, perMs }: NonNullable<Config['RATE_LIMIT']>,
): void {
  if (!/^\/docs(-json|\/|$)/.test(route.url)) return;
  route.onRequest = async (request, reply) => {
    const key = `address ${clientKey(request.ip)}`;
    const counted = await counts.increment(key, perMs, limit, 0, 'default');
    tellLimit(reply, { name: 'requests', limit, windowMs: perMs }, counted);
    if (!counted.isBlocked) return;
    const { timeToBlockExpire: retryAfterSeconds } = counted;
    const detail = `That is more than ${limit} requests; try again in ${retryAfterSeconds} s`;
    sendProblem(reply, problem('rate_limited', detail), {
      'retry-after': String(retryAfterSeconds),
    });
    return reply;
  };
}
