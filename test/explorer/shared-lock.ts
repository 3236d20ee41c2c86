import type { Held, LockOfIds, Uuids } from '@app/timeout';
import type { Scheduler } from './scheduler';

/** Tries of a single lock before its holder is given up on. */
const TRIES = 3;

/** The lock's store, shared by all processes of a program: it can lose its locks, or be away. */
export class LockStore {
  readonly #holders = new Map<string, symbol>();
  isAway = false;

  constructor(readonly scheduler: Scheduler) {}

  /** What a full Redis, a failover or a time-to-live that is over does. */
  lose(): void {
    this.#holders.clear();
  }

  take(keys: readonly string[], holder: symbol): string[] {
    const free = keys.filter((key) => !this.#holders.has(key));
    for (const key of free) this.#holders.set(key, holder);
    return free;
  }

  give(keys: readonly string[], holder: symbol): void {
    for (const key of keys) if (this.#holders.get(key) === holder) this.#holders.delete(key);
  }
}

/** One process' access to the store. */
export class SharedLock implements LockOfIds {
  constructor(private readonly store: LockStore) {}

  acquireFree(keys: readonly string[]): Promise<Held> {
    return this.store.scheduler.step('lock', async () => this.#take(keys));
  }

  acquireFreeOf(prefix: string, ids: Uuids): Promise<Held> {
    return this.acquireFree(ids.each.map((id) => `${prefix}${id}`));
  }

  async acquireOne(key: string): Promise<Held> {
    for (let tries = 1; ; tries++) {
      const held = await this.acquireFree([key]);
      if (held.outcome !== 'contended' || tries === TRIES) return held;
    }
  }

  async close(): Promise<void> {
    // The store is the program's.
  }

  #take(keys: readonly string[]): Held {
    if (this.store.isAway) return held(keys, 'degraded');
    const holder = Symbol();
    const mine = this.store.take(keys, holder);
    const outcome = mine.length === keys.length ? 'held' : 'contended';
    return held(mine, outcome, async () => this.store.give(mine, holder));
  }
}

function held(
  keys: readonly string[],
  outcome: Held['outcome'],
  release = async (): Promise<void> => undefined,
): Held {
  return { keys: new Set(keys), outcome, release };
}
