import { isIPv6 } from 'node:net';

/** Some proxies write the port into X-Forwarded-For as well, another one for each connection. */
const WITH_PORT = /^(\d+(?:\.\d+){3}):\d+$|^\[(.+)\](?::\d+)?$/;

/**
 * Whom a rate limit counts by address: an IPv4 address, or the /64 that whoever has one IPv6
 * address usually has all of.
 */
export function clientKey(forwarded: string): string {
  const [, ipv4, ipv6] = WITH_PORT.exec(forwarded) ?? [];
  const address = ipv4 ?? ipv6 ?? forwarded;
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1];
  if (mapped) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? 0 : tail.split(':').length;
    while (groups.length < 8 - rest) groups.push('0');
    groups.push(...(tail === '' ? [] : tail.split(':')));
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
