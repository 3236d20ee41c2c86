import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { sharedLookup } from './shared-lookup';

const MAX_LENGTH = 2_000;

/** True for addresses of the internet at large: none of ours, the machine's, the cloud's or a tunnel's. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // An IPv4 address in the clothes of IPv6 is judged by what it is.
  const judged = ipaddr.process(address);
  if (judged.range() !== 'unicast') return false;
  return judged instanceof ipaddr.IPv4 || judged.match(GLOBAL_UNICAST);
}

/** All of IPv6 that is given out; what is outside of it, such as ::a.b.c.d, leads to who knows where. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** What is wrong with an address as an endpoint, to follow its name; undefined when it may be one. */
export function complaintAboutUrl(text: string, allowPrivate: boolean): string | undefined {
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
  if (!URL.canParse(text)) return 'must be an address such as https://shop.example/webhooks';
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (protocol !== 'https:' && !(allowPrivate && protocol === 'http:')) {
    return 'must begin with https://';
  }
  if (username !== '' || password !== '') return 'must not have a user or a password in it';
  if (hash !== '') return 'must not have a fragment (#...)';
  const host = hostname.replace(/^\[|\]$/g, '');
  if (allowPrivate || isIP(host) === 0 || isPublicAddress(host)) return undefined;
  return `must not be an address of a private network (${host})`;
}

/** The name of an endpoint leads where webhooks may not go. */
export class PrivateAddressError extends Error {
  constructor(host: string) {
    super(`${host} is, or resolves to, an address of a private network`);
    this.name = 'PrivateAddressError';
  }
}

/**
 * Resolves a name for the connection that asks, which then goes to just what was judged here: a name
 * that answers otherwise a moment later leads nowhere else. One private address among them refuses all.
 */
export const publicLookup: LookupFunction = sharedLookup((hostname, addresses) =>
  addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))
    ? undefined
    : new PrivateAddressError(hostname),
);

/** Resolves a name wherever it leads. */
export const anyLookup: LookupFunction = sharedLookup(() => undefined);
