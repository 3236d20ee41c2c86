import { TLSSocket } from 'node:tls';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { pauseBetweenSubscribers } from './patient-subscriber';
import { parseRedisUrl } from './redis-url';
import { saidUnasked } from './said-unasked';

/** Where Redis is: a URL as `REDIS_URL` in .env.example takes it, ioredis options, or a host's client. */
export type RedisAddress = string | RedisOptions | Redis | Cluster;

/** True for a client of a cluster, by whichever copy of ioredis. */
export const isCluster = (address: Exclude<RedisAddress, string>): address is Cluster =>
  'isCluster' in address && address.isCluster;

const CONNECT_LIMIT_MS = 1_000;
/** How long a peer may take to answer our goodbye before the socket is dropped. */
const DISCONNECT_LIMIT_MS = 200;
const RETRY_BASE_MS = 50;
/** Redis coming back is noticed within this time. */
const RETRY_MAX_MS = 1_000;
/** While Redis reads its data, ioredis would trust its guess how long that takes: up to 10 s. */
const LOADING_RETRY_MS = 200;

// Jitter, so that a fleet does not reconnect in step.
const retryDelayMs = (attempt: number): number =>
  Math.min(RETRY_BASE_MS * 2 ** attempt, RETRY_MAX_MS) * (0.5 + Math.random() / 2);

/** What Redis answers, beside what it was asked. */
type Refusal = Error & { readonly command?: { readonly name: string } };

/** Stands above what a host's client or options say: they tell where Redis is, not how it is asked. */
const CONNECTION: RedisOptions = {
  // First calls wait until it is connected, which a lazy one is by none of theirs.
  lazyConnect: false,
  // All keys have prefixes of ours, and BullMQ throws for any other.
  keyPrefix: '',
  // Who waits has limits of their own; what blocks or listens is silent for as long as nothing is due.
  commandTimeout: undefined,
  blockingTimeout: undefined,
  socketTimeout: undefined,
  // Without it, what was under way when a connection broke never gets an answer.
  autoResendUnfulfilledCommands: true,
  enableAutoPipelining: false,
  // We write, and count by what is answered.
  readOnly: false,
  role: 'master',
  stringNumbers: false,
  monitor: false,
  // One with the name of ours would run in its place.
  scripts: undefined,
  connectTimeout: CONNECT_LIMIT_MS,
  disconnectTimeout: DISCONNECT_LIMIT_MS,
  maxLoadingRetryTime: LOADING_RETRY_MS,
  retryStrategy: retryDelayMs,
  // One that gives up ends the connection for good.
  sentinelRetryStrategy: retryDelayMs,
  // After a failover the old primary answers READONLY: look again who is primary. Where a database cannot
  // be selected, ioredis goes on in the first one, which may be another shop's.
  reconnectOnError: (error: Refusal) =>
    error.message.startsWith('READONLY') || error.command?.name === 'select',
};

/** For commands somebody waits for: they fail at once while Redis is away, none is queued. */
export const FAIL_FAST: RedisOptions = {
  ...CONNECTION,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
};

/** For background work that may wait as long as Redis is away, and then goes on. */
export const PATIENT: RedisOptions = {
  ...CONNECTION,
  enableOfflineQueue: true,
  maxRetriesPerRequest: null,
};

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
  // Each answer that says READONLY hangs up, and each time ioredis listens for the end: Node would warn of a leak.
  client.on('connect', () => (client.stream as Redis['stream'] | undefined)?.setMaxListeners(0));
  return client;
}

/** What is left of a connection that the other side has hung up: why, it had said before, if at all. */
function isHungUp(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}

/**
 * By TLS 1.3 a client's certificate is judged once the connection stands for the client. What the client has written by
 * then has the other side reset the connection, and the alert that says why may be lost with it.
 * @see https://www.rfc-editor.org/rfc/rfc8446#section-4.4.2.4
 */
function isHungUpOnTls(error: Error, stream: Redis['stream'] | undefined): boolean {
  return isHungUp(error) && stream instanceof TLSSocket && stream.authorized;
}

const hungUpOnTls = (cause: Error): Error =>
  Object.assign(
    new Error('it hung up as soon as the TLS connection stood, and before any answer', { cause }),
    { code: 'ERR_TLS_HUNG_UP' },
  );

/**
 * Asks a Redis over a connection of its own, in vain at most twice. Rejects with what keeps us from it, as a
 * certificate or a refused login: ioredis itself says in the end only that it has tried so often.
 */
export async function askRedisOnce<T>(
  address: RedisAddress,
  ask: (client: Redis) => Promise<T>,
): Promise<T> {
  let trouble: Error | undefined;
  let wasReady = false;
  const behaviour = { ...FAIL_FAST, enableOfflineQueue: true, maxRetriesPerRequest: 1 };
  const client = openRedis(address, behaviour, (error) => {
    const isLess = trouble !== undefined && isHungUp(error);
    if (isLess || error.name === 'MaxRetriesPerRequestError') return;
    trouble = !wasReady && isHungUpOnTls(error, client.stream) ? hungUpOnTls(error) : error;
  });
  client.on('ready', () => {
    trouble = undefined;
    wasReady = true;
  });
  try {
    return await ask(client);
  } catch (error) {
    const isTurnedAway = !wasReady && trouble !== undefined && isHungUp(trouble);
    throw (isTurnedAway && (await saidUnasked(client))) || (trouble ?? error);
  } finally {
    client.disconnect();
  }
}

/** Where what is made of a connection fails, nobody else knows of it, and nobody would close it. */
export function makeOrHangUp<T>(make: () => T, hangUp: () => void): T {
  try {
    return make();
  } catch (error) {
    hangUp();
    throw error;
  }
}

function connect(address: RedisAddress, behaviour: RedisOptions): Redis {
  if (typeof address !== 'string') {
    return 'duplicate' in address
      ? beside(address, behaviour)
      : new Redis({ ...address, ...behaviour });
  }
  const { cluster, options, url } = parseRedisUrl(address);
  if (cluster) return asRedis(new Cluster([...cluster], clusterOptions(options, behaviour)));
  if (!url) return new Redis({ ...options, ...behaviour });
  // What an address has in its query would go before what is said beside it.
  return new Redis(url, { lazyConnect: true }).duplicate({ ...options, ...behaviour });
}

/**
 * The host's own client tells where Redis is, and stays the host's. It may be of another copy of ioredis, as a package
 * of the host's has one: taken for options, it would lead to this machine.
 */
function beside(client: Redis | Cluster, behaviour: RedisOptions): Redis {
  if (!isCluster(client)) return Redis.prototype.duplicate.call(client, behaviour);
  const { redisOptions = {} } = client.options;
  const options = clusterOptions(redisOptions, behaviour);
  return asRedis(Cluster.prototype.duplicate.call(client, undefined, options));
}

function clusterOptions(own: RedisOptions, behaviour: RedisOptions): ClusterOptions {
  const { enableOfflineQueue = true, lazyConnect = false, retryStrategy, ...ofNodes } = behaviour;
  return {
    enableOfflineQueue,
    lazyConnect,
    // Of calls to all of them, as CONNECTION says it of each node.
    keyPrefix: '',
    enableAutoPipelining: false,
    scripts: undefined,
    scaleReads: 'master',
    // A node that is tried by itself keeps what it was asked for as long as it is away, also where another has its slots.
    clusterNodeRetryStrategy: undefined,
    // We listen to none.
    shardedSubscribers: false,
    slotsRefreshTimeout: CONNECT_LIMIT_MS,
    clusterRetryStrategy: (attempt) => retryStrategy?.(attempt) ?? null,
    redisOptions: { ...own, ...ofNodes },
  };
}

/** Commands, pipelines, scripts and subscriptions are the same; there is no `stream`. */
function asRedis(cluster: Cluster): Redis {
  pauseBetweenSubscribers(cluster, retryDelayMs);
  return cluster as unknown as Redis;
}

/** Grows with everything that Redis says: tells a slow connection from a silent one. */
export function bytesHeard(client: Redis): number | undefined {
  // There is no stream before the first try to connect.
  return (client.stream as Redis['stream'] | undefined)?.bytesRead;
}
