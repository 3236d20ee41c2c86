import type { Redis } from 'ioredis';
import { ExecutionError, Lock, Redlock, ResourceLockedError } from 'redlock';
import { asBatchClient, batchSets, defineLockScripts } from './redlock-scripts';

export type RedlockHold = Lock;

/** So many keys and more are a batch, and are held by one set: fewer are each a key of Redis. */
const BATCH = 32;

/** Redlock on one connection, in its two ways: each key by itself, and all keys of a call by a set. */
export class RedlockHolds {
  readonly #single: Redlock;
  readonly #batch: Redlock;

  constructor(
    private readonly client: Redis,
    onError: (error: Error) => void,
  ) {
    defineLockScripts(client);
    this.#single = openRedlock(client, onError);
    this.#batch = openRedlock(asBatchClient(client), onError);
  }

  /** Keys behind one tag, all or none; `asBatch`: by a set, unless they are few. */
  async acquire(
    tag: string,
    keys: readonly string[],
    ttlMs: number,
    asBatch: boolean,
  ): Promise<RedlockHold> {
    const sets = batchSets(tag);
    const names = namesOf(tag, keys);
    const isBatch = asBatch && keys.length >= BATCH;
    const redlock = isBatch ? this.#batch : this.#single;
    const { value, attempts, expiration } = await redlock.acquire([...sets, ...names], ttlMs);
    // Extended and given back by what holds it, and not by all that was looked at.
    return new Lock(redlock, isBatch ? [...sets] : names, value, attempts, expiration);
  }

  /** For how long each of the keys is held still, in milliseconds; below 0: it is free. */
  livesOf(tag: string, keys: readonly string[]): Promise<number[]> {
    const looked = [...batchSets(tag), ...namesOf(tag, keys)];
    return this.client.locksLive(looked.length, ...looked);
  }
}

function namesOf(tag: string, keys: readonly string[]): string[] {
  return keys.map((key) => `${tag}:${key}`);
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
