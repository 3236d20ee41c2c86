import type { RedisOptions } from 'ioredis';
import { takeTlsFiles } from './redis-tls';
import { RedisUrlError } from './redis-url.error';
import { hasStrayPercent, STRAY_PERCENT_RULE } from '../stray-percent';

interface Node {
  readonly host: string;
  readonly port: number;
}

/** One server (`url`), a cluster of them (`cluster`), or one that sentinels know (`options`). */
export interface RedisTarget {
  readonly nodes: readonly Node[];
  readonly url?: string;
  readonly cluster?: readonly Node[];
  readonly options: RedisOptions;
  readonly isEncrypted: boolean;
}

const SHAPE = /^(rediss?)(\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?]+)(?:\/([^/?]*))?(?:\/(\d+))?$/;

/** ioredis asks Redis for whatever stands there, and ends the process where that is no number. */
const DATABASE = /^(\d+\/?)?$/;

const REDIS_URL_RULE =
  'must be redis://host:6379, redis://host1:6379,host2:6379,... for a cluster, or ' +
  'redis+sentinel://host1:26379,host2:26379/name (rediss for TLS)';

/**
 * Several hosts are a cluster; `redis+sentinel://host1:26379,host2:26379/name[/database]` asks the
 * sentinels for the master `name`. User and password before the `@` are Redis', not the sentinels'.
 * `?sslrootcert=FILE&sslcert=FILE&sslkey=FILE` ends any that begins with rediss.
 * @throws {RedisUrlError}
 */
export function parseRedisUrl(given: string): RedisTarget {
  if (hasStrayPercent(given)) throw new RedisUrlError(STRAY_PERCENT_RULE);
  const { url, tls } = takeTlsFiles(given);
  const [, scheme, sentinel, credentials = '', hosts = '', path = '', database = '0'] =
    SHAPE.exec(url) ?? [];
  // With a query, or in some other way more than we know: ioredis knows it.
  if (scheme === undefined) return single(url, tls);
  const isEncrypted = scheme === 'rediss';
  const nodes = hosts.split(',').map((host) => nodeOf(host, sentinel ? 26_379 : 6_379));
  if (nodes.length === 1 && !sentinel) return single(url, tls);
  const options = { ...credentialsOf(credentials), ...(isEncrypted ? { tls } : {}) };
  if (!sentinel) {
    if (path !== '' && path !== '0') throw new RedisUrlError('a cluster has database 0 alone');
    return { nodes, cluster: nodes.map(asDialed), options, isEncrypted };
  }
  if (path === '') throw new RedisUrlError('names no master: .../name');
  const asked = { sentinels: nodes.map(asDialed), name: path, db: Number(database) };
  // ioredis heeds `tls` here only where it is told so twice: for the sentinels, and for their master.
  const byTls = isEncrypted ? { sentinelTLS: tls, enableTLSForSentinelMode: true } : {};
  return { nodes, options: { ...options, ...byTls, ...asked }, isEncrypted };
}

function single(url: string, tls: RedisOptions['tls'] & object): RedisTarget {
  if (!URL.canParse(url)) throw new RedisUrlError(REDIS_URL_RULE);
  const { protocol, hostname, port, pathname, searchParams } = new URL(url);
  const isEncrypted = protocol === 'rediss:';
  if (!isEncrypted && protocol !== 'redis:') throw new RedisUrlError(REDIS_URL_RULE);
  if (![pathname.slice(1), searchParams.get('db') ?? ''].every((text) => DATABASE.test(text))) {
    throw new RedisUrlError(
      'must end in the number of a database, as redis://host:6379/1, or in none',
    );
  }
  const nodes = [{ host: hostname, port: Number(port || 6_379) }];
  return { nodes, url, options: isEncrypted ? { tls } : {}, isEncrypted };
}

/** An IPv6 address has its brackets in a URL, and nowhere else. */
const asDialed = ({ host, port }: Node): Node => ({ host: host.replace(/^\[(.*)\]$/, '$1'), port });

function nodeOf(text: string, defaultPort: number): Node {
  if (!URL.canParse(`redis://${text}`)) throw new RedisUrlError(REDIS_URL_RULE);
  const { hostname: host, port } = new URL(`redis://${text}`);
  return { host, port: Number(port || defaultPort) };
}

function credentialsOf(text: string): RedisOptions {
  const at = text.indexOf(':');
  const [username, password] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  return {
    ...(username ? { username: decodeURIComponent(username) } : {}),
    ...(password ? { password: decodeURIComponent(password) } : {}),
  };
}
