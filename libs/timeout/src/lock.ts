/** What came of asking for a set of locks. */
export interface Held {
  /** Keys we hold. When the lock store is down this is all of them, unlocked: see `outcome`. */
  readonly keys: ReadonlySet<string>;
  /**
   * `held`: all of them. `contended`: some are somebody else's and are not in `keys`.
   * `degraded`: the store did not answer; the caller goes on without a lock, because the
   * conditional update decides, not the lock.
   */
  readonly outcome: 'held' | 'contended' | 'degraded';
  /** Gives the locks back. Never rejects: a lock that has expired is gone already. */
  release(): Promise<void>;
}

/** The guard's mutual exclusion. It saves work; it is not what keeps orders correct. */
export interface Lock {
  /** Takes what is free of `keys` in at most two round trips and waits for nobody. */
  acquireFree(keys: readonly string[]): Promise<Held>;
  /** Takes one key, waiting a bounded, jittered time for whoever holds it. */
  acquireOne(key: string): Promise<Held>;
  /** Closes connections of its own. */
  close(): Promise<void>;
}
