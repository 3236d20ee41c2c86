import type { Held, Lock } from '../lock';
import { withTimeLimit } from '../time-limit';

/** Longer than a store takes that is well; a batch's transaction waits. */
const ANSWERS_WITHIN_MS = 1_000;

/**
 * A lock of a host's, each call of which ends, and none of which fails: whoever waits for one that never answers would
 * handle nothing any more, and it is no subject's fault that it is away. Then the work goes on without it, as with a
 * store of ours that is away.
 */
export class AnsweredLock implements Lock {
  readonly excludesNobody?: true;

  constructor(
    private readonly lock: Lock,
    private readonly failed: (error: unknown) => void,
  ) {
    if (lock.excludesNobody) this.excludesNobody = true;
  }

  async acquireFree(keys: readonly string[]): Promise<Held> {
    return this.#answered(keys, async () => this.lock.acquireFree(keys));
  }

  async acquireOne(key: string): Promise<Held> {
    return this.#answered([key], async () => this.lock.acquireOne(key));
  }

  close(): Promise<void> {
    return this.lock.close();
  }

  async #answered(keys: readonly string[], ask: () => Promise<Held>): Promise<Held> {
    const asked = ask();
    try {
      const held = await withTimeLimit(asked, ANSWERS_WITHIN_MS, 'The lock did not answer');
      return { ...held, release: () => this.#release(held) };
    } catch (error) {
      this.failed(error);
      // What is held after all is wanted no more.
      void asked.then((held) => this.#release(held)).catch(() => undefined);
      return { keys: new Set(keys), outcome: 'degraded', release: async () => undefined };
    }
  }

  async #release(held: Held): Promise<void> {
    const releasing = (async () => held.release())();
    await withTimeLimit(releasing, ANSWERS_WITHIN_MS, 'The lock was not given back').catch(
      this.failed,
    );
  }
}
