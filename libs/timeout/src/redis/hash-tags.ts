import { crc32 } from 'node:zlib';
import { isCluster, type RedisAddress } from './redis';
import { parseRedisUrl } from './redis-url';

/** On three masters each of them has one; every tag costs connections of its own. */
const HASH_TAGS_OF_A_CLUSTER = 4;

/** What stands before keys: one hash tag, or one for each of `count` slots of a cluster. */
export function hashTags(name: string, count: number): readonly string[] {
  if (count === 1) return [`{${name}}`];
  return Array.from({ length: count }, (_, index) => `{${name}:${index}}`);
}

/** As many as were asked for; one where Redis is one server, so that a batch is one call. */
export function hashTagCount(redis: RedisAddress | undefined, wanted?: number): number {
  return wanted ?? (redis !== undefined && leadsToCluster(redis) ? HASH_TAGS_OF_A_CLUSTER : 1);
}

/** The same for all processes and for ever: it says where a key is. */
export function tagIndexOf(key: string, count: number): number {
  return count === 1 ? 0 : crc32(key) % count;
}

const leadsToCluster = (redis: RedisAddress): boolean =>
  typeof redis === 'string' ? parseRedisUrl(redis).cluster !== undefined : isCluster(redis);
