import type { ThrottlerStorage } from '@nestjs/throttler';

/** A few megabytes; the one that has been counted longest gives way. */
const MAX_KEYS = 100_000;

interface Window {
  /** Ours and, as far as we have heard of them, those of the other processes. */
  count: number;
  /** Ours that the others have not heard of. */
  untold: number;
  readonly beginsAtMs: number;
  readonly endsAtMs: number;
}

/** One that began later than now is of a clock that was ahead, and has been set back. */
const isOpen = ({ beginsAtMs, endsAtMs }: Window, now: number): boolean =>
  beginsAtMs <= now && now < endsAtMs;

/** Requests of one key that the other processes have not heard of. */
export interface Untold {
  readonly key: string;
  readonly count: number;
  readonly endsAtMs: number;
}

type Answer = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * Counts requests in windows that all processes begin at the same instants of their clocks; one that is set
 * begins a window anew, and blocks nobody for longer than one lasts. One small record a key:
 * the storage that comes with the throttler keeps a record of every single request. What other
 * processes count comes in by `hear` (shared-counts.ts); without them each counts for itself.
 */
export class RequestCounts implements ThrottlerStorage {
  /** In the order in which the windows were opened, which is about that in which they end. */
  readonly #windows = new Map<string, Window>();
  /** Goes on where it was: from the beginning it would pass a hundred thousand that are gone, for each new key. */
  #fromOldest = this.#windows.entries();
  #oldest: [string, Window] | undefined;
  #untold = new Set<string>();

  constructor(private readonly nowMs: () => number = Date.now) {}

  increment(key: string, ttlMs: number, limit: number): Promise<Answer> {
    const now = this.nowMs();
    let window = this.#windows.get(key);
    if (!window || !isOpen(window, now)) window = this.#open(key, now, ttlMs);
    window.count += 1;
    window.untold += 1;
    this.#untold.add(key);
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

  /** Hands out what the others have to be told; it counts as told. */
  takeUntold(most: number): Untold[] {
    const taken: Untold[] = [];
    for (const key of this.#untold) {
      if (taken.length >= most) break;
      this.#untold.delete(key);
      const window = this.#windows.get(key);
      if (!window || window.untold === 0 || !isOpen(window, this.nowMs())) continue;
      taken.push({ key, count: window.untold, endsAtMs: window.endsAtMs });
      window.untold = 0;
    }
    return taken;
  }

  /** What all processes together have counted, without what we have counted since. */
  hear({ key, endsAtMs }: Untold, total: number): void {
    const window = this.#windows.get(key);
    if (window?.endsAtMs === endsAtMs) window.count = Math.max(window.count, total + window.untold);
  }

  #open(key: string, now: number, ttlMs: number): Window {
    this.#forgetOld(now);
    const beginsAtMs = Math.floor(now / ttlMs) * ttlMs;
    const window = { count: 0, untold: 0, beginsAtMs, endsAtMs: beginsAtMs + ttlMs };
    this.#windows.delete(key);
    this.#windows.set(key, window);
    return window;
  }

  /** Those whose window has ended, and whoever has to give way. */
  #forgetOld(now: number): void {
    for (let oldest = this.#seeOldest(); oldest; oldest = this.#seeOldest()) {
      const [key, window] = oldest;
      if (window.endsAtMs > now && this.#windows.size < MAX_KEYS) return;
      this.#oldest = undefined;
      // Else the key has a newer one by now, as after the clock was set back.
      if (this.#windows.get(key) !== window) continue;
      this.#windows.delete(key);
      this.#untold.delete(key);
    }
  }

  #seeOldest(): [string, Window] | undefined {
    this.#oldest ??= this.#fromOldest.next().value;
    // A walk that has come to its end never goes on.
    if (!this.#oldest) this.#fromOldest = this.#windows.entries();
    return this.#oldest;
  }
}
