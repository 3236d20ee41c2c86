import { randomUUID } from 'node:crypto';

/** How a test wants its lock; absent = what holds also on a machine that stands still at times. */
export interface LockWish {
  readonly ttlMs?: number;
  /** 0: whoever holds does so for `ttlMs` only, as if it had died. */
  readonly extendForMs?: number;
  readonly waitMs?: number;
  /** After so long a silence of the store it goes on without a lock, */
  readonly callTimeoutMs?: number;
  /** and does not ask it for so long. */
  readonly shortCircuitMs?: number;
}

/** Keys of so many orders, as a lock is asked for them. */
export function keysOf(count: number): string[] {
  return Array.from({ length: count }, () => `lock:order:${randomUUID()}`);
}
