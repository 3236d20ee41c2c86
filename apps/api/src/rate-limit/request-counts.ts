import type { ThrottlerStorage } from '@nestjs/throttler';

/** A few megabytes; the one that has been counted longest gives way. */
const MAX_KEYS = 100_000;

interface Window {
  count: number;
  readonly endsAtMs: number;
}

type Answer = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * Counts requests in windows that begin with a key's first request. One small record a key: the
 * storage that comes with the throttler keeps a record of every single request. Counted per
 * process, so that with several the limit is as many times higher: it is there to stop floods.
 */
export class RequestCounts implements ThrottlerStorage {
  /** In the order in which the windows end, as all are of one length. */
  readonly #windows = new Map<string, Window>();

  constructor(private readonly nowMs: () => number = Date.now) {}

  increment(key: string, ttlMs: number, limit: number): Promise<Answer> {
    const now = this.nowMs();
    let window = this.#windows.get(key);
    if (!window || window.endsAtMs <= now) window = this.#open(key, now, ttlMs);
    window.count += 1;
    const secondsLeft = Math.ceil((window.endsAtMs - now) / 1_000);
    const isBlocked = window.count > limit;
    return Promise.resolve({
      totalHits: window.count,
      timeToExpire: secondsLeft,
      isBlocked,
      timeToBlockExpire: isBlocked ? secondsLeft : 0,
    });
  }

  get size(): number {
    return this.#windows.size;
  }

  #open(key: string, now: number, ttlMs: number): Window {
    for (const [old, { endsAtMs }] of this.#windows) {
      if (endsAtMs > now && this.#windows.size < MAX_KEYS) break;
      this.#windows.delete(old);
    }
    const window = { count: 0, endsAtMs: now + ttlMs };
    this.#windows.delete(key);
    this.#windows.set(key, window);
    return window;
  }
}
