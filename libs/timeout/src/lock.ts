import type { Uuids } from './uuids';

/** What came of asking for a set of locks. */
export interface Held {
  /** Keys we hold; with the outcome `degraded`, keys to go on with unlocked. */
  readonly keys: ReadonlySet<string>;
  /**
   * `held`: all of them. `contended`: some are somebody else's and are not in `keys`.
   * `degraded`: the store did not answer, or so late that the hold has expired already; the caller
   * goes on without a lock, because the conditional update decides, not the lock.
   */
  readonly outcome: 'held' | 'contended' | 'degraded';
  /** Keys that are somebody else's: how long ago they were last taken or extended, where known. */
  readonly busyForMs?: ReadonlyMap<string, number>;
  /**
   * Gives the locks back; until then they are extended, as long as this process lives and for a
   * bounded time. Never rejects: a lock that has expired is gone already.
   */
  release(): Promise<void>;
}

/** The guard's mutual exclusion. It saves work; it is not what keeps orders correct. */
export interface Lock {
  /** Whoever has one may meet somebody all the same: nothing is to be done that counts on being alone. */
  readonly excludesNobody?: true;
  /**
   * Takes what is free of `keys` and waits for nobody. One round trip when all are free; at most
   * four: further tries with those that were free when the store was asked about each.
   */
  acquireFree(keys: readonly string[]): Promise<Held>;
  /** Takes one key, waiting a bounded, jittered time for whoever holds it. */
  acquireOne(key: string): Promise<Held>;
  /** Closes connections of its own. */
  close(): Promise<void>;
}

/** A lock that can take many keys without taking their ids apart. */
export interface LockOfIds extends Lock {
  /** {@link Lock.acquireFree} for the keys `prefix` + id. */
  acquireFreeOf(prefix: string, ids: Uuids): Promise<Held>;
}

export const isLockOfIds = (lock: Lock): lock is LockOfIds => 'acquireFreeOf' in lock;
