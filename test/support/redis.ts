import { Redis } from 'ioredis';
import { testServers } from './database';

/** A Redis server has 16; the first is left to whoever connects without a number. */
const DATABASES = 15;
/** Of Jest (`jest.config.js`). No test file has more installations at a time than a worker has databases. */
const WORKERS = 3;
const SHARE = DATABASES / WORKERS;
let taken = 0;

/**
 * A Redis database of its own, emptied. Jest's workers share the server, each with a share of its
 * 15 databases.
 */
export async function takeRedisDatabase(): Promise<string> {
  const worker = Number(process.env.JEST_WORKER_ID ?? 1) - 1;
  if (worker >= WORKERS)
    throw new Error(`At most ${WORKERS} workers: each empties databases of its own`);
  const url = new URL(testServers().redisUrl);
  url.pathname = `/${1 + worker * SHARE + (taken++ % SHARE)}`;
  const redis = new Redis(url.href, { maxRetriesPerRequest: 1 });
  try {
    await redis.flushdb();
  } finally {
    redis.disconnect();
  }
  return url.href;
}
