import { randomUUID } from 'node:crypto';

/** A uuid in its usual form, of either case. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** True when Postgres would take `text` as a uuid in its usual form. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * A UUIDv7: time in front, so that rows written together lie together. Node's own random UUIDs come
 * from a pool of bytes and already are what a v7 is after its time, but for the version.
 */
export function uuidv7(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const FIRST = '0'.repeat(32);
const LAST = 'f'.repeat(32);

/** The first and the last uuid that begin with `prefix`: hexadecimal digits and hyphens. */
export function uuidsFrom(prefix: string): readonly [string, string] {
  const digits = prefix.replaceAll('-', '').toLowerCase();
  return [
    hyphenated(digits + FIRST.slice(digits.length)),
    hyphenated(digits + LAST.slice(digits.length)),
  ];
}

/** The first and the last UUIDv7 of a span of time; an end that is not given is open. */
export function uuidsBetween(since?: Date, until?: Date): readonly [string, string] {
  const [first] = uuidsFrom(since ? timeOf(since) : '');
  const [, last] = uuidsFrom(until ? timeOf(until) : '');
  return [first, last];
}

const MAX_TIME = 2 ** 48 - 1;
const timeOf = (at: Date): string =>
  Math.min(Math.max(at.getTime(), 0), MAX_TIME).toString(16).padStart(12, '0');

const hyphenated = (digits: string): string =>
  digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
