import { hash } from 'node:crypto';
import type { OrderView } from '../order/order';

/** Weak: two answers of one order differ in `serverNow` and mean the same. */
export function entityTagOf({ serverNow: _, ...order }: OrderView): string {
  return `W/"${hash('sha1', JSON.stringify(order), 'base64url')}"`;
}

/** Whether the caller has it already, by an `If-None-Match` header (RFC 9110, 13.1.2). */
export function isKnown(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = tag.slice(2);
  const given = ifNoneMatch.split(',').map((one) => one.trim().replace(/^W\//, ''));
  return given.includes('*') || given.includes(opaque);
}
