import type { Redis } from 'ioredis';
import { tagIndexOf } from '../redis/hash-tags';
import type { Held, Lock } from '../lock';
import { pause } from '../pause';
import { bytesHeard, FAIL_FAST, openRedis } from '../redis/redis';
import { type BusyKeys, heldNothing, together, unlocked } from './held';
import { Keys } from './keys';
import { REDLOCK_DEFAULTS, type RedlockLockOptions } from './redlock-options';
import { BATCH, isContention, type RedlockHold, RedlockHolds } from './redlock-holds';
import { TimeLimitError, withTimeLimit } from '../time-limit';
import type { Uuids } from '../uuids';
import { type Complete, withDefaults } from '../with-defaults';

/** Between two tries of `acquireOne`: short at first, most holders are done in a few ms. */
const RETRY_FIRST_MS = 10;
const RETRY_MAX_MS = 100;
/** Silent for so long, a connection is given up; TCP alone would need minutes to notice. */
const SILENT_LIMIT_MS = 5_000;
const GOODBYE_LIMIT_MS = 300;

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
  readonly #options: Complete<RedlockLockOptions>;
  readonly #client: Redis;
  readonly #holds: RedlockHolds;
  /** Settles when the first try to connect has ended, well or not. */
  readonly #firstConnection: Promise<void>;
  #closing: Promise<void> | undefined;
  /**
   * Until then Redis is not asked for keys of this tag, as others have another master. By the
   * monotonic clock, as no instant leaves this process.
   */
  readonly #openUntilMs = new Map<string, number>();
  #silence: { readonly sinceMs: number; readonly heard: number | undefined } | undefined;

  constructor(options: RedlockLockOptions) {
    this.#options = withDefaults(REDLOCK_DEFAULTS, options);
    const { redis, onError } = this.#options;
    this.#client = openRedis(redis, FAIL_FAST, onError);
    this.#holds = new RedlockHolds(this.#client, onError);
    this.#firstConnection = new Promise((resolve) => {
      this.#client.once('ready', resolve).once('close', resolve);
    });
  }

  /** One call for each tag, all at once. */
  async acquireFree(keys: readonly string[]): Promise<Held> {
    const byTag = new Map<string, string[]>(this.#options.tags.map((tag) => [tag, []]));
    for (const key of new Set(keys)) byTag.get(this.#tagOf(key))?.push(key);
    const groups = [...byTag].filter(([, group]) => group.length > 0);
    return together(
      await Promise.all(
        groups.map(([tag, group]) => this.#acquireFreeOfOneTag(tag, Keys.of(group))),
      ),
    );
  }

  /**
   * @internal Few are held one by one, and behind several tags each tells which is its own: those are
   * taken apart.
   */
  acquireFreeOf(prefix: string, ids: Uuids): Promise<Held> {
    const { tags } = this.#options;
    const keys = Keys.prefixed(prefix, ids);
    if (tags.length > 1 || keys.count < BATCH) return this.acquireFree(keys.each);
    return this.#acquireFreeOfOneTag(tags[0] as string, keys);
  }

  async #acquireFreeOfOneTag(tag: string, wanted: Keys): Promise<Held> {
    const first = await this.#attempt(tag, wanted, true);
    if (first !== 'contended') return this.#held(tag, wanted, first, 'held');
    const busyForMs = await this.#busyAmong(tag, wanted);
    if (busyForMs === 'down') return unlocked(wanted);
    const free = Keys.of(wanted.each.filter((key) => !busyForMs.has(key)));
    if (free.count === 0) return heldNothing('contended', busyForMs);
    let second = busyForMs.size > 0 ? await this.#attempt(tag, free, true) : 'contended';
    // The batches' keys may all be taken: so they are where none of these was busy.
    if (second === 'contended' && (busyForMs.size === 0 || free.count >= BATCH)) {
      second = await this.#attempt(tag, free, false);
    }
    // Somebody was faster again. They come back with the next ring, so nobody insists.
    if (second === 'contended') {
      const allForMs = wanted.each.map((key) => [key, busyForMs.get(key) ?? 0] as const);
      return heldNothing('contended', new Map(allForMs));
    }
    return this.#held(tag, free, second, busyForMs.size === 0 ? 'held' : 'contended', busyForMs);
  }

  async acquireOne(key: string): Promise<Held> {
    const giveUpAtMs = performance.now() + this.#options.waitMs;
    const [tag, keys] = [this.#tagOf(key), Keys.of([key])];
    for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)) {
      const attempt = await this.#attempt(tag, keys, false);
      if (attempt !== 'contended') return this.#held(tag, keys, attempt, 'held');
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

  #tagOf(key: string): string {
    const { tags } = this.#options;
    return tags[tagIndexOf(key, tags.length)] as string;
  }

  /** One call of Redlock for all of `keys`, which have one tag. */
  async #attempt(tag: string, keys: Keys, asBatch: boolean): Promise<Attempt> {
    let acquiring: Promise<RedlockHold> | undefined;
    try {
      const hold = await this.#ask(
        tag,
        () => (acquiring = this.#holds.acquire(tag, keys, this.#options.ttlMs, asBatch)),
      );
      return { hold };
    } catch (error) {
      if (await isContention(error)) return 'contended';
      // If the answer comes after all, it is a lock that nobody knows of.
      void acquiring?.then(
        (hold) => this.#giveBack(tag, hold),
        () => undefined,
      );
      return 'down';
    }
  }

  /** Those that are held, and since when. */
  async #busyAmong(tag: string, keys: Keys): Promise<BusyKeys | 'down'> {
    const { ttlMs, onError } = this.#options;
    try {
      const lives = await this.#ask(tag, () => this.#holds.livesOf(tag, keys));
      const busy = keys.each.map((key, index) => [key, lives[index] ?? 0] as const);
      return new Map(
        busy.filter(([, ms]) => ms >= 0).map(([key, ms]) => [key, Math.max(0, ttlMs - ms)]),
      );
    } catch (error) {
      if (!(error instanceof TimeLimitError)) onError(error as Error);
      return 'down';
    }
  }

  #held(
    tag: string,
    keys: Keys,
    attempt: Exclude<Attempt, 'contended'>,
    outcome: Held['outcome'],
    busyForMs: BusyKeys = new Map(),
  ): Held {
    if (attempt === 'down') return unlocked(keys);
    const { hold } = attempt;
    const ended = hold.expiration <= Date.now();
    const stopExtending = ended ? () => undefined : this.#extend(tag, hold);
    let released: Promise<void> | undefined;
    let names: ReadonlySet<string> | undefined;
    return {
      get keys(): ReadonlySet<string> {
        return (names ??= new Set(keys.each));
      },
      outcome: ended ? 'degraded' : outcome,
      busyForMs,
      release: () => {
        stopExtending();
        return (released ??= this.#giveBack(tag, hold));
      },
    };
  }

  /** Until it is stopped, or a call fails: then the hold ends, and the conditional update decides. */
  #extend(tag: string, first: RedlockHold): () => void {
    const { ttlMs, extendForMs } = this.#options;
    const untilMs = performance.now() + extendForMs;
    if (extendForMs === 0) return () => undefined;
    let hold = first;
    const stop = (): void => clearInterval(timer);
    const timer = setInterval(() => {
      if (performance.now() > untilMs) return stop();
      const extending = this.#ask(tag, () => hold.extend(ttlMs));
      extending.then((longer) => (hold = longer), stop);
    }, ttlMs / 3);
    timer.unref();
    return stop;
  }

  /** Whatever goes wrong: the lock ends by itself. A silent Redis is not waited for. */
  async #giveBack(tag: string, hold: RedlockHold): Promise<void> {
    const releasing = hold.release().catch(() => undefined);
    if (this.#isOpen(tag)) return;
    const { callTimeoutMs } = this.#options;
    await withTimeLimit(releasing, callTimeoutMs, 'Redis did not take a lock back').catch(
      (error: Error) => this.#shortCircuit(tag, error),
    );
  }

  /** Asks Redis in bounded time, or not at all just after it failed to answer. */
  async #ask<T>(tag: string, call: () => Promise<T>): Promise<T> {
    const { callTimeoutMs } = this.#options;
    if (this.#closing) throw new Error('RedlockLock is closed');
    if (this.#isOpen(tag)) throw new TimeLimitError('Redis was not asked', 0);
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
      if (!(await isContention(error))) this.#shortCircuit(tag, error as Error);
      throw error;
    }
  }

  #isOpen(tag: string): boolean {
    return performance.now() < (this.#openUntilMs.get(tag) ?? 0);
  }

  #shortCircuit(tag: string, error: Error): void {
    const nowMs = performance.now();
    this.#openUntilMs.set(tag, nowMs + this.#options.shortCircuitMs);
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
