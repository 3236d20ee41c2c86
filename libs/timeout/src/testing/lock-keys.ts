import { randomUUID } from 'node:crypto';

/** Keys of so many orders, as a lock is asked for them. */
export function keysOf(count: number): string[] {
  return Array.from({ length: count }, () => `lock:order:${randomUUID()}`);
}
