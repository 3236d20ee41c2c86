import type { Redis } from 'ioredis';
import { ExecutionError, Redlock, ResourceLockedError, type Lock as RedlockHold } from 'redlock';
import type { Held, Lock } from '../lock';
import { pause } from '../pause';
import { bytesHeard, FAIL_FAST, openRedis, type RedisAddress } from '../redis';
import { defineBatchScripts } from './redlock-scripts';
import { TimeLimitError, withTimeLimit } from '../time-limit';

export interface RedlockLockOptions {
  readonly redis: RedisAddress;
  /** Told of errors of Redis and its connection; that a key is taken is none. */
  readonly onError: (error: Error) => void;
  /**
   * The locks of a process that died are free again after this time: its orders wait no longer.
   * Whole milliseconds.
   */
  readonly ttlMs?: number;
  /** A hold that is not given back is extended for so long, well before it ends; 0: never. */
  readonly extendForMs?: number;
  /** How long `acquireOne` waits for whoever holds the key. */
  readonly waitMs?: number;
  /** Silence of Redis for so long, and the caller goes on without a lock. */
  readonly callTimeoutMs?: number;
  /** After such a silence or an error, so long nobody asks Redis: a slow one slows nobody. */
  readonly shortCircuitMs?: number;
  /**
   * Stands before every key: `lock:order:<id>` is `{lc}:lock:order:<id>` in Redis. The braces put
   * all keys into one hash slot, without which a cluster takes no batch in one script.
   */
  readonly prefix?: string;
}

export const REDLOCK_DEFAULTS = {
  ttlMs: 2_000,
  extendForMs: 30_000,
  waitMs: 1_500,
  callTimeoutMs: 250,
  shortCircuitMs: 1_000,
  prefix: '{lc}:',
} as const;

/** Between two tries of `acquireOne`: short at first, most holders are done in a few ms. */
const RETRY_FIRST_MS = 10;
const RETRY_MAX_MS = 100;
/** Silent for so long, a connection is given up; TCP alone would need minutes to notice. */
const SILENT_LIMIT_MS = 5_000;
const GOODBYE_LIMIT_MS = 300;

type BusyKeys = ReadonlyMap<string, number>;
type Attempt = { readonly hold: RedlockHold } | 'contended' | 'down';

/**
 * Locks in Redis by the Redlock script: all keys of a call or none.
 *
 * A hold is short and extended while its owner lives, so that a killed process delays nobody for
 * long. One that ends all the same (this process slept) lets the conditional update decide.
 * A hold that has already ended when Redis's answer arrives (this process slept, or `ttlMs` is
 * tiny) protects nothing. That is reported as `degraded`, which means just that: go on, unlocked.
 */
export class RedlockLock implements Lock {
  readonly #options: Required<RedlockLockOptions>;
  readonly #client: Redis;
  readonly #redlock: Redlock;
  /** Settles when the first try to connect has ended, well or not. */
  readonly #firstConnection: Promise<void>;
  #closing: Promise<void> | undefined;
  /** Until then Redis is not asked. By the monotonic clock, as no instant leaves this process. */
  #openUntilMs = 0;
  #silence: { readonly sinceMs: number; readonly heard: number | undefined } | undefined;

  constructor(options: RedlockLockOptions) {
    this.#options = { ...REDLOCK_DEFAULTS, ...options };
    const { redis, onError } = this.#options;
    this.#client = openRedis(redis, FAIL_FAST, onError);
    defineBatchScripts(this.#client);
    this.#firstConnection = new Promise((resolve) => {
      this.#client.once('ready', resolve).once('close', resolve);
    });
    // No retries: we wait, or not, in our own way.
    this.#redlock = new Redlock([this.#client], { retryCount: 0 });
    this.#redlock.on('error', (error: Error) => {
      if (!(error instanceof ResourceLockedError)) onError(error);
    });
  }

  async acquireFree(keys: readonly string[]): Promise<Held> {
    const wanted = [...new Set(keys)];
    if (wanted.length === 0) return heldNothing('held');
    const first = await this.#attempt(wanted);
    if (first !== 'contended') return this.#held(wanted, first, 'held');
    const busyForMs = await this.#busyAmong(wanted);
    if (busyForMs === 'down') return unlocked(wanted);
    const free = wanted.filter((key) => !busyForMs.has(key));
    if (free.length === 0) return heldNothing('contended', busyForMs);
    const second = await this.#attempt(free);
    // Somebody was faster again. They come back with the next ring, so nobody insists.
    if (second === 'contended') {
      return heldNothing('contended', new Map(wanted.map((key) => [key, busyForMs.get(key) ?? 0])));
    }
    return this.#held(free, second, busyForMs.size === 0 ? 'held' : 'contended', busyForMs);
  }

  async acquireOne(key: string): Promise<Held> {
    const giveUpAtMs = performance.now() + this.#options.waitMs;
    for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)) {
      const attempt = await this.#attempt([key]);
      if (attempt !== 'contended') return this.#held([key], attempt, 'held');
      const leftMs = giveUpAtMs - performance.now();
      if (leftMs <= 0) return heldNothing('contended');
      await pause(Math.min(pauseMs * (0.5 + Math.random()), leftMs));
    }
  }

  close(): Promise<void> {
    this.#closing ??= withTimeLimit(this.#client.quit(), GOODBYE_LIMIT_MS, 'No goodbye').then(
      () => undefined,
      // It is away, or silent: hang up.
      () => this.#client.disconnect(),
    );
    return this.#closing;
  }

  /** One call of Redlock for all of `keys`. */
  async #attempt(keys: readonly string[]): Promise<Attempt> {
    let acquiring: Promise<RedlockHold> | undefined;
    try {
      const hold = await this.#ask(() => {
        const { prefix, ttlMs } = this.#options;
        return (acquiring = this.#redlock.acquire(
          keys.map((key) => prefix + key),
          ttlMs,
        ));
      });
      return { hold };
    } catch (error) {
      if (await isContention(error)) return 'contended';
      // If the answer comes after all, it is a lock that nobody knows of.
      void acquiring?.then(
        (hold) => this.#giveBack(hold),
        () => undefined,
      );
      return 'down';
    }
  }

  /** Those that are held, and since when. */
  async #busyAmong(keys: readonly string[]): Promise<BusyKeys | 'down'> {
    const { prefix, ttlMs, onError } = this.#options;
    try {
      const names = keys.map((key) => prefix + key);
      const lives = await this.#ask(() => this.#client.locksLive(names.length, ...names));
      const busy = keys.map((key, index) => [key, lives[index] ?? 0] as const);
      return new Map(
        busy.filter(([, ms]) => ms >= 0).map(([key, ms]) => [key, Math.max(0, ttlMs - ms)]),
      );
    } catch (error) {
      if (!(error instanceof TimeLimitError)) onError(error as Error);
      return 'down';
    }
  }

  #held(
    keys: readonly string[],
    attempt: Exclude<Attempt, 'contended'>,
    outcome: Held['outcome'],
    busyForMs: BusyKeys = new Map(),
  ): Held {
    if (attempt === 'down') return unlocked(keys);
    const { hold } = attempt;
    const ended = hold.expiration <= Date.now();
    const stopExtending = ended ? () => undefined : this.#extend(hold);
    let released: Promise<void> | undefined;
    return {
      keys: new Set(keys),
      outcome: ended ? 'degraded' : outcome,
      busyForMs,
      release: () => {
        stopExtending();
        return (released ??= this.#giveBack(hold));
      },
    };
  }

  /** Until it is stopped, or a call fails: then the hold ends, and the conditional update decides. */
  #extend(first: RedlockHold): () => void {
    const { ttlMs, extendForMs } = this.#options;
    const untilMs = performance.now() + extendForMs;
    if (extendForMs === 0) return () => undefined;
    let hold = first;
    const stop = (): void => clearInterval(timer);
    const timer = setInterval(() => {
      if (performance.now() > untilMs) return stop();
      this.#ask(() => this.#redlock.extend(hold, ttlMs)).then((longer) => (hold = longer), stop);
    }, ttlMs / 3);
    timer.unref();
    return stop;
  }

  /** Whatever goes wrong: the lock ends by itself. A silent Redis is not waited for. */
  async #giveBack(hold: RedlockHold): Promise<void> {
    const releasing = this.#redlock.release(hold).catch(() => undefined);
    if (performance.now() < this.#openUntilMs) return;
    const { callTimeoutMs } = this.#options;
    await withTimeLimit(releasing, callTimeoutMs, 'Redis did not take a lock back').catch(
      (error: Error) => this.#shortCircuit(error),
    );
  }

  /** Asks Redis in bounded time, or not at all just after it failed to answer. */
  async #ask<T>(call: () => Promise<T>): Promise<T> {
    const { callTimeoutMs } = this.#options;
    if (this.#closing) throw new Error('RedlockLock is closed');
    if (performance.now() < this.#openUntilMs) throw new TimeLimitError('Redis was not asked', 0);
    let givenUp = false;
    const answer = this.#firstConnection.then(() => {
      if (givenUp) throw new TimeLimitError('Redis was not connected', callTimeoutMs);
      return call();
    });
    try {
      const result = await withTimeLimit(answer, callTimeoutMs, 'Redis did not answer');
      return result;
    } catch (error) {
      givenUp = true;
      if (!(await isContention(error))) this.#shortCircuit(error as Error);
      throw error;
    }
  }

  #shortCircuit(error: Error): void {
    const nowMs = performance.now();
    this.#openUntilMs = nowMs + this.#options.shortCircuitMs;
    if (!(error instanceof TimeLimitError)) return;
    this.#options.onError(error);
    const heard = bytesHeard(this.#client);
    if (this.#silence?.heard !== heard) this.#silence = undefined;
    this.#silence ??= { sinceMs: nowMs, heard };
    if (nowMs - this.#silence.sinceMs < SILENT_LIMIT_MS || this.#client.status !== 'ready') return;
    this.#silence = undefined;
    this.#client.disconnect(true);
  }
}

/** Redlock says "no quorum" for a taken key and for a dead Redis alike; its votes tell which. */
async function isContention(error: unknown): Promise<boolean> {
  if (!(error instanceof ExecutionError)) return false;
  for (const attempt of error.attempts) {
    for (const vote of (await attempt).votesAgainst.values()) {
      if (vote instanceof ResourceLockedError) return true;
    }
  }
  return false;
}

function heldNothing(outcome: 'held' | 'contended', busyForMs: BusyKeys = new Map()): Held {
  return { keys: new Set(), outcome, busyForMs, release: async () => undefined };
}

function unlocked(keys: readonly string[]): Held {
  return { keys: new Set(keys), outcome: 'degraded', release: async () => undefined };
}
