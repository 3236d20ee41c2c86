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
