import type { Held, Lock } from '../lock';

/** No lock at all, where there is no Redis: the conditional update alone keeps orders correct. */
export class NoopLock implements Lock {
  readonly excludesNobody = true;

  async acquireFree(keys: readonly string[]): Promise<Held> {
    return { keys: new Set(keys), outcome: 'held', release: async () => undefined };
  }

  async acquireOne(key: string): Promise<Held> {
    return this.acquireFree([key]);
  }

  async close(): Promise<void> {}
}
