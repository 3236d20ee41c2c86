import type { Held, Lock } from '../lock';

/** No lock at all: for tests that show that the conditional update alone keeps orders correct. */
export class NoopLock implements Lock {
  async acquireFree(keys: readonly string[]): Promise<Held> {
    return { keys: new Set(keys), outcome: 'held', release: async () => undefined };
  }

  async acquireOne(key: string): Promise<Held> {
    return this.acquireFree([key]);
  }

  async close(): Promise<void> {}
}
