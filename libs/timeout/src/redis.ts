import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl } from './redis-url';

/** Where Redis is: a URL as `REDIS_URL` in .env.example takes it, ioredis options, or a host's client. */
export type RedisAddress = string | RedisOptions | Redis | Cluster;

const CONNECT_LIMIT_MS = 1_000;
/** How long a peer may take to answer our goodbye before the socket is dropped. */
const DISCONNECT_LIMIT_MS = 200;
const RETRY_BASE_MS = 50;
/** Redis coming back is noticed within this time. */
const RETRY_MAX_MS = 1_000;
/** While Redis reads its data, ioredis would trust its guess how long that takes: up to 10 s. */
const LOADING_RETRY_MS = 200;

const CONNECTION: RedisOptions = {
  connectTimeout: CONNECT_LIMIT_MS,
  disconnectTimeout: DISCONNECT_LIMIT_MS,
  maxLoadingRetryTime: LOADING_RETRY_MS,
  // Jitter, so that a fleet does not reconnect in step.
  retryStrategy: (attempt) =>
    Math.min(RETRY_BASE_MS * 2 ** attempt, RETRY_MAX_MS) * (0.5 + Math.random() / 2),
  // After a failover the old primary answers READONLY: look again who is primary.
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
};

/** For commands somebody waits for: they fail at once while Redis is away, none is queued. */
export const FAIL_FAST: RedisOptions = {
  ...CONNECTION,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
};

/** For background work that may wait as long as Redis is away, and then goes on. */
export const PATIENT: RedisOptions = { ...CONNECTION, maxRetriesPerRequest: null };

/**
 * Opens a connection whose errors go to `onError`: an 'error' event never goes unhandled. To a
 * cluster it is one to its nodes, which answers the same calls; keys of one call share a hash tag.
 * @throws {RedisUrlError}
 */
export function openRedis(
  address: RedisAddress,
  behaviour: RedisOptions,
  onError: (error: Error) => void,
): Redis {
  const client = connect(address, behaviour);
  client.on('error', onError);
  return client;
}

function connect(address: RedisAddress, behaviour: RedisOptions): Redis {
  // The host's own client tells where Redis is, and stays the host's.
  if (address instanceof Redis) return address.duplicate(behaviour);
  if (address instanceof Cluster) {
    return asRedis(address.duplicate(undefined, clusterOptions({}, behaviour)));
  }
  if (typeof address !== 'string') return new Redis({ ...address, ...behaviour });
  const { cluster, options, url } = parseRedisUrl(address);
  if (cluster) return asRedis(new Cluster([...cluster], clusterOptions(options, behaviour)));
  return url ? new Redis(url, behaviour) : new Redis({ ...options, ...behaviour });
}

function clusterOptions(own: RedisOptions, behaviour: RedisOptions): ClusterOptions {
  const { enableOfflineQueue = true, lazyConnect = false, retryStrategy, ...ofNodes } = behaviour;
  return {
    enableOfflineQueue,
    lazyConnect,
    slotsRefreshTimeout: CONNECT_LIMIT_MS,
    clusterRetryStrategy: (attempt) => retryStrategy?.(attempt) ?? null,
    redisOptions: { ...own, ...ofNodes },
  };
}

/** Commands, pipelines, scripts and subscriptions are the same; there is no `stream`. */
function asRedis(cluster: Cluster): Redis {
  return cluster as unknown as Redis;
}

/** Grows with everything that Redis says: tells a slow connection from a silent one. */
export function bytesHeard(client: Redis): number | undefined {
  // There is no stream before the first try to connect.
  return (client.stream as Redis['stream'] | undefined)?.bytesRead;
}
