import { isIPv6 } from 'node:net';

const EVERYWHERE = new Set(['0.0.0.0', '::']);

/**
 * Where this machine finds what listens on `host`; what listens everywhere, as in a container, by 127.0.0.1.
 * @param {string | undefined} host
 * @param {string} port
 */
export function reachedAt(host, port) {
  if (!host || EVERYWHERE.has(host)) return `http://127.0.0.1:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
