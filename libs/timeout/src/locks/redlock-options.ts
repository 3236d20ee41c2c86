import type { RedisAddress } from '../redis/redis';

export interface RedlockLockOptions {
  readonly redis: RedisAddress;
  /** Told of errors of Redis and its connection; that a key is taken is none. */
  readonly onError: (error: Error) => void;
  /**
   * The locks of a process that died are free again after this time: its orders wait no longer.
   * Whole milliseconds.
   */
  readonly ttlMs?: number | undefined;
  /** A hold that is not given back is extended for so long, well before it ends; 0: never. */
  readonly extendForMs?: number | undefined;
  /** How long `acquireOne` waits for whoever holds the key. */
  readonly waitMs?: number | undefined;
  /** Silence of Redis for so long, and the caller goes on without a lock. */
  readonly callTimeoutMs?: number | undefined;
  /** After such a silence or an error, so long nobody asks Redis: a slow one slows nobody. */
  readonly shortCircuitMs?: number | undefined;
  /**
   * One stands before every key: `lock:order:<id>` is `{lc}:lock:order:<id>` in Redis. The braces
   * put all keys behind one tag into one hash slot, without which a cluster takes no batch in one
   * script. Of several, the key alone says which: the same for all processes that share locks.
   */
  readonly tags?: readonly string[] | undefined;
}

export const REDLOCK_DEFAULTS = {
  ttlMs: 2_000,
  extendForMs: 30_000,
  waitMs: 1_500,
  callTimeoutMs: 250,
  shortCircuitMs: 1_000,
  tags: ['{lc}'] as readonly string[],
} as const;
