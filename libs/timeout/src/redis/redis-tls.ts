import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { RedisUrlError } from './redis-url.error';

/** What an address names as Postgres' does, and what Node calls that. */
const FILES = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const;
type FileName = keyof typeof FILES;
const NAMES = Object.keys(FILES) as FileName[];

/**
 * An address of Redis without the files that its query names, and what is in them: an authority, and a certificate of
 * ours with its key, for a Redis that demands one. They are read again for each connection.
 * @throws {RedisUrlError} where one cannot be read, or a certificate is without its key
 */
export function takeTlsFiles(url: string): {
  readonly url: string;
  readonly tls: ConnectionOptions;
} {
  const [address = '', query = ''] = url.split(/\?(?=[^?]*$)/);
  const params = new URLSearchParams(query);
  const named = NAMES.filter((name) => params.has(name));
  if (named.length === 0) return { url, tls: {} };
  if (!url.startsWith('rediss')) {
    throw new RedisUrlError(
      `must be rediss://..., as it names a file for TLS (${named.join(', ')})`,
    );
  }
  if (params.has('sslcert') !== params.has('sslkey')) {
    throw new RedisUrlError('must name sslcert and sslkey together');
  }
  const tls = {};
  for (const name of named) {
    Object.defineProperty(tls, FILES[name], readAgain(name, params.get(name) ?? ''));
    params.delete(name);
  }
  return { url: params.size > 0 ? `${address}?${params.toString()}` : address, tls };
}

/** ioredis copies it as it connects. */
function readAgain(name: FileName, path: string): PropertyDescriptor {
  const read = (): string => readFileSync(path, 'utf8');
  let text: string;
  try {
    text = read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RedisUrlError(`must name files that can be read: its ${name} cannot (${code})`);
  }
  const get = (): string => {
    try {
      text = read();
    } catch {
      // It is being replaced at this moment: what was there last is as good as ever.
    }
    return text;
  };
  return { enumerable: true, get };
}
