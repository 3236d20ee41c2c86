import { Redis } from 'ioredis';
import { testServers } from './database';

/** A Redis server has 16; the first is left to whoever connects without a number. */
const DATABASES = 15;
let taken = 0;

/**
 * A Redis database of its own, emptied. Jest's workers share the server, each with a share of its
 * 15 databases: two workers get seven each.
 */
export async function takeRedisDatabase(): Promise<string> {
  const worker = Number(process.env.JEST_WORKER_ID ?? 1) - 1;
  const share = Math.floor(DATABASES / 2);
  const url = new URL(testServers().redisUrl);
  url.pathname = `/${1 + (worker % 2) * share + (taken++ % share)}`;
  const redis = new Redis(url.href, { maxRetriesPerRequest: 1 });
  try {
    await redis.flushdb();
  } finally {
    redis.disconnect();
  }
  return url.href;
}
