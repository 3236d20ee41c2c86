import { Redis, type RedisOptions } from 'ioredis';

/** Where Redis is: a `redis://` or `rediss://` URL, or ioredis options. */
export type RedisAddress = string | RedisOptions;

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

/** ioredis takes a URL and options as two arguments, and options alone as one. */
export function redisArguments(
  address: RedisAddress,
  behaviour: RedisOptions,
): [string, RedisOptions] | [RedisOptions] {
  return typeof address === 'string' ? [address, behaviour] : [{ ...address, ...behaviour }];
}

/** Opens a connection whose errors go to `onError`: an 'error' event never goes unhandled. */
export function openRedis(
  address: RedisAddress,
  behaviour: RedisOptions,
  onError: (error: Error) => void,
): Redis {
  const args = redisArguments(address, behaviour);
  const client = args.length === 2 ? new Redis(...args) : new Redis(...args);
  client.on('error', onError);
  return client;
}

/** Grows with everything that Redis says: tells a slow connection from a silent one. */
export function bytesHeard(client: Redis): number | undefined {
  // There is no stream before the first try to connect.
  return (client.stream as Redis['stream'] | undefined)?.bytesRead;
}
