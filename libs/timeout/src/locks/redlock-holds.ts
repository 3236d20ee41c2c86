import type { Redis } from 'ioredis';
import { ExecutionError, Lock, Redlock, ResourceLockedError } from 'redlock';
import type { Keys } from './keys';
import { inOrder, packed } from './marks';
import { asClientOfMany, defineLockScripts, lookedAt } from './redlock-scripts';

export type RedlockHold = Lock;

/** So many keys and more are a batch, and are held by one key of Redis: fewer are each a key of their own. */
export const BATCH = 32;

/** Redlock on one connection, in its two ways: each key by itself, and all keys of a call by one. */
export class RedlockHolds {
  readonly #single: Redlock;

  constructor(
    private readonly client: Redis,
    private readonly onError: (error: Error) => void,
  ) {
    defineLockScripts(client);
    this.#single = openRedlock(client, onError);
  }

  /** Keys behind one tag, all or none; `asBatch`: by one key, unless they are few. */
  async acquire(tag: string, keys: Keys, ttlMs: number, asBatch: boolean): Promise<RedlockHold> {
    const looked = lookedAt(tag);
    if (asBatch && keys.count >= BATCH) {
      return this.#ofMany(tag, keys, true).acquire([...looked], ttlMs);
    }
    const names = keys.names(tag);
    const redlock = keys.count < BATCH ? this.#single : this.#ofMany(tag, keys, false);
    const hold = await redlock.acquire([...looked, ...names], ttlMs);
    const { value, attempts, expiration } = hold;
    // Extended and given back by what holds it, and not by all that was looked at.
    return new Lock(this.#single, [looked[0] as string, ...names], value, attempts, expiration);
  }

  /** For how long each of the keys is held still, in milliseconds; below 0: it is free. */
  livesOf(tag: string, keys: Keys): Promise<number[]> {
    const looked = [...lookedAt(tag), ...keys.names(tag)];
    if (keys.count < BATCH) return this.client.locksLive(looked.length, ...looked);
    const marks = keys.marks(tag);
    return this.client.locksLive(looked.length, ...looked, packed(marks), inOrder(marks));
  }

  #ofMany(tag: string, keys: Keys, asBatch: boolean): Redlock {
    const marks = packed(keys.marks(tag));
    return openRedlock(asClientOfMany(this.client, marks, asBatch), this.onError);
  }
}

/** Without retries: whoever holds locks waits, or not, in a way of its own. */
function openRedlock(client: Redis, onError: (error: Error) => void): Redlock {
  const redlock = new Redlock([client], { retryCount: 0 });
  redlock.on('error', (error: Error) => {
    if (!(error instanceof ResourceLockedError)) onError(error);
  });
  return redlock;
}

/** Redlock says "no quorum" for a taken key and for a dead Redis alike; its votes tell which. */
export async function isContention(error: unknown): Promise<boolean> {
  if (!(error instanceof ExecutionError)) return false;
  for (const attempt of error.attempts) {
    for (const vote of (await attempt).votesAgainst.values()) {
      if (vote instanceof ResourceLockedError) return true;
    }
  }
  return false;
}
