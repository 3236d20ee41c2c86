import type { Config } from '@app/orders';
import { isIPv6 } from 'node:net';

const EVERYWHERE: readonly string[] = ['0.0.0.0', '::'];

/** The URL by which this machine reaches the API; what listens everywhere, as in a container, by 127.0.0.1. */
export function reachedAt({ HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): string {
  const host = EVERYWHERE.includes(HOST) ? '127.0.0.1' : HOST;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${PORT}`;
}
