import { askRedisOnce, parseRedisUrl, type RedisAddress, withTimeLimit } from '@app/timeout';
import type { Redis } from 'ioredis';
import type { Config } from '../../config';
import { tlsTrouble, type TlsTrouble } from '../../order/tls-trouble';
import { type Check, expectation, finding, mendOf, ok, unknown, warning } from './check';

/** BullMQ asks for 5 and recommends 6.2. */
const OLDEST_VERSION = [6, 2] as const;
const ANSWER_LIMIT_MS = 2_000;
const LATENCY_LIMIT_MS = 20;
const PINGS = 11;
const FULL = 0.85;
const CROWDED = 0.8;

/** What an installation does without, which is nothing that its orders need. */
export const WITHOUT_REDIS =
  'order locks are row locks, each process limits rates for itself, events go to no stream';

/** Looks at Redis over a connection of its own. INFO is allowed where CONFIG is not. */
export async function examineRedis({ REDIS_URL: url }: Config): Promise<Check[]> {
  if (!url) return [ok('redis', 'used', `no: REDIS_URL is not set; ${WITHOUT_REDIS}`)];
  const { cluster, options } = parseRedisUrl(url);
  if (!cluster) return examineServer(url);
  const nodes = await Promise.all(
    cluster.map(async (node) => {
      const checks = await examineServer({ ...options, ...node }, true);
      return checks.map((check) => ({
        ...check,
        name: `${check.name} of ${node.host}:${node.port}`,
      }));
    }),
  );
  return [await examineSlots(url), ...nodes.flat()];
}

/** With one slot uncovered a cluster refuses everything, unless it was told not to. */
async function examineSlots(url: string): Promise<Check> {
  const fix = 'redis-cli --cluster check HOST:PORT, and bring the missing masters back';
  const look = async (client: Redis): Promise<Check> => {
    const asked = withTimeLimit(client.cluster('INFO'), ANSWER_LIMIT_MS, 'no answer');
    const info = parseInfo(await asked);
    const detail = `${info.cluster_state}, ${info.cluster_slots_ok} of 16384 slots, ${info.cluster_size} masters${await coverage(client)}`;
    const isWhole = info.cluster_state === 'ok' && info.cluster_slots_ok === '16384';
    return expectation('redis', 'cluster', isWhole, detail, fix);
  };
  return askRedisOnce(url, look).catch((error: unknown) =>
    unknown('redis', 'cluster reachable', error, fix),
  );
}

/** Whether one lost slot stops everything; hosted clusters do not tell. */
async function coverage(client: Pick<Redis, 'config'>): Promise<string> {
  const asked = client.config('GET', 'cluster-require-full-coverage') as Promise<string[]>;
  const [, value] = await asked.catch((): string[] => []);
  return value === undefined ? '' : `, cluster-require-full-coverage ${value}`;
}

async function examineServer(address: RedisAddress, isNode = false): Promise<Check[]> {
  const look = async (client: Redis): Promise<Check[]> => {
    const info = parseInfo(await withTimeLimit(client.info(), ANSWER_LIMIT_MS, 'no answer'));
    const latencyMs = await medianPing(() => client.ping());
    return [
      ok('redis', 'reachable', serverOf(info)),
      version(info.redis_version ?? ''),
      persistence(info),
      eviction(info),
      memory(info),
      connections(info),
      ...(isNode ? [replicas(info)] : primary(info)),
      expectation(
        'redis',
        'latency',
        latencyMs <= LATENCY_LIMIT_MS,
        `${latencyMs.toFixed(1)} ms (median of ${PINGS})`,
        'look at the network between, and at SLOWLOG GET; alarms ring late by this',
      ),
    ];
  };
  return askRedisOnce(address, look).catch((error: unknown) => {
    const fix = `${howToReach(error)}; orders close by the sweep meanwhile`;
    return [unknown('redis', 'reachable', error, fix)];
  });
}

const TLS_FIXES: Readonly<Record<TlsTrouble, string>> = {
  expired: 'its certificate has expired: let Redis have a new one (tls-cert-file)',
  not_yet: 'its certificate is not valid yet: look at the clock of this machine',
  other_host: 'its certificate is of another host: name Redis in REDIS_URL as the certificate does',
  not_trusted:
    'name the authority of its certificate in NODE_EXTRA_CA_CERTS, and Redis in REDIS_URL as the certificate does',
  own_certificate:
    'Redis demands a certificate of its clients, and does not take what REDIS_URL names (sslcert and sslkey), if anything: ' +
    'name one that it takes, or let it do without (tls-auth-clients no)',
  no_connection:
    'no TLS connection comes about: Redis has to speak TLS 1.2 or newer there (tls-port, tls-protocols), and to take the ' +
    'certificate that REDIS_URL names (sslcert and sslkey) or demand none (tls-auth-clients no); where it speaks no TLS, ' +
    'REDIS_URL begins with redis://',
};

/** How to mend that Redis cannot be asked. */
export function howToReach(error: unknown): string {
  const trouble = tlsTrouble(error);
  if (trouble) return TLS_FIXES[trouble];
  const start =
    'start Redis (npm start does) and check REDIS_URL (rediss:// where it takes TLS, and only there)';
  return mendOf(error) ?? start;
}

type Info = Readonly<Record<string, string>>;

function parseInfo(text: string): Info {
  const pairs = text.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf(':');
    return line.startsWith('#') || at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)]];
  });
  return Object.fromEntries(pairs) as Info;
}

/** Valkey tells its own version beside that of the Redis it speaks like. */
function serverOf({ valkey_version: valkey, redis_version: redis = '?' }: Info): string {
  return valkey === undefined ? `version ${redis}` : `Valkey ${valkey}, as Redis ${redis}`;
}

function version(text: string): Check {
  const [major = 0, minor = 0] = text.split('.').map(Number);
  const [oldMajor, oldMinor] = OLDEST_VERSION;
  const isNew = major > oldMajor || (major === oldMajor && minor >= oldMinor);
  return expectation('redis', 'version', isNew, text, `upgrade to ${OLDEST_VERSION.join('.')}`);
}

function persistence(info: Info): Check {
  const isOn = info.aof_enabled === '1';
  const isWritten = info.aof_last_write_status !== 'err';
  return expectation(
    'redis',
    'persistence',
    isOn && isWritten,
    isOn ? `append-only file on, last write ${info.aof_last_write_status}` : 'append-only file off',
    'redis-cli CONFIG SET appendonly yes; without it a restart loses the alarms (the sweep covers)',
  );
}

function eviction(info: Info): Check {
  const policy = info.maxmemory_policy ?? 'not told';
  return expectation(
    'redis',
    'eviction',
    policy === 'noeviction',
    policy,
    'redis-cli CONFIG SET maxmemory-policy noeviction; any other drops alarms in silence',
  );
}

/** Of a server that stands alone; a replica answers whatever is read, and refuses all that we write. */
function primary({ role, master_host: host, master_port: port }: Info): Check[] {
  if (role === 'master') return [];
  const detail = `a replica of ${host}:${port}, which takes no writes`;
  const fix = 'point REDIS_URL at the primary, or make this one it (REPLICAOF NO ONE)';
  return [finding('redis', 'role', detail, fix)];
}

/** Of a node of a cluster: a master that nobody follows takes all that it holds along. */
function replicas(info: Info): Check {
  if (info.role !== 'master') {
    const isUp = info.master_link_status === 'up';
    const detail = `follows port ${info.master_port}, link ${info.master_link_status}`;
    return expectation(
      'redis',
      'replica',
      isUp,
      detail,
      'bring its master back, or let it follow another',
    );
  }
  const count = Number(info.connected_slaves ?? 0);
  if (count > 0) return ok('redis', 'replicas', `${count}`);
  const fix = 'add one (redis-cli --cluster add-node NEW:PORT ANY:PORT --cluster-slave)';
  return warning(
    'redis',
    'replicas',
    'none: with it the cluster refuses, and the sweep closes',
    fix,
  );
}

function memory(info: Info): Check {
  const used = Number(info.used_memory ?? 0);
  const limit = Number(info.maxmemory ?? 0);
  const detail = limit > 0 ? `${mb(used)} of ${mb(limit)} MB` : `${mb(used)} MB, no limit set`;
  const isRoomy = limit === 0 || used < limit * FULL;
  return expectation('redis', 'memory', isRoomy, detail, 'raise maxmemory');
}

function connections({ connected_clients: used = '0', maxclients: most }: Info): Check {
  return expectation(
    'redis',
    'connections',
    most === undefined || Number(used) < Number(most) * CROWDED,
    most === undefined ? `${used} in use` : `${used} of ${most} in use`,
    'raise maxclients, or end what holds them (CLIENT LIST): each process has up to eight',
  );
}

function mb(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}

async function medianPing(ping: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < PINGS; n++) {
    const startedMs = performance.now();
    await ping();
    times.push(performance.now() - startedMs);
  }
  return times.sort((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
}
