import { createHash } from 'node:crypto';
import { FAIL_FAST, openRedis, withTimeLimit } from '@app/timeout';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { Redis } from 'ioredis';
import type { PrometheusTelemetry } from '../metrics/prometheus-telemetry';
import { RequestCounts } from './request-counts';

/** So long a process may not know what the others have counted: nobody ever waits for Redis. */
const TELL_EVERY_MS = 100;
/** Keys a round; a flood of addresses is told in several. */
const MOST_AT_ONCE = 2_000;
const REDIS_LIMIT_MS = 1_000;
/** The braces keep a round's keys in one hash slot of a cluster. */
const PREFIX = '{lastcall:requests}:';

/** All of it as it is in a process that serves; another clock and other limits are for tests. */
export interface Pace {
  readonly nowMs: () => number;
  readonly tellEveryMs: number;
  readonly redisLimitMs: number;
}

/**
 * Rate limits for all processes together. Each counts for itself and tells the others, by Redis,
 * ten times a second; without Redis it goes on alone, and that is counted.
 */
export class SharedCounts implements ThrottlerStorage, OnApplicationShutdown {
  readonly #counts: RequestCounts;
  /** Undefined where there is no Redis: each process counts for itself. */
  readonly #redis: Redis | undefined;
  readonly #pace: Pace;
  #timer: NodeJS.Timeout | undefined;
  #round = Promise.resolve();
  /** The round that waits for the one under way: it tells everything that is untold by then. */
  #next: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    redisUrl: string | undefined,
    private readonly telemetry: Pick<PrometheusTelemetry, 'requestsCountedAlone'>,
    pace: Partial<Pace> = {},
  ) {
    const usual = { nowMs: Date.now, tellEveryMs: TELL_EVERY_MS, redisLimitMs: REDIS_LIMIT_MS };
    this.#pace = { ...usual, ...pace };
    this.#counts = new RequestCounts(this.#pace.nowMs);
    // What is wrong with Redis is told with each round that fails.
    const behaviour = { ...FAIL_FAST, lazyConnect: true };
    this.#redis = redisUrl ? openRedis(redisUrl, behaviour, () => undefined) : undefined;
  }

  increment(...[key, ttlMs, limit]: Parameters<ThrottlerStorage['increment']>) {
    if (this.#redis && !this.#timer && !this.#isClosed) {
      this.#timer = setTimeout(() => void this.tellOthers(), this.#pace.tellEveryMs).unref();
    }
    return this.#counts.increment(key, ttlMs, limit);
  }

  /** A round after the one under way: tells what we have counted, hears what all have. Never rejects. */
  tellOthers(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Never more than one: while Redis is silent a round takes longer than the time to the next.
    this.#next ??= this.#round = this.#round.then(() => {
      this.#next = undefined;
      return this.#tellOthers();
    });
    return this.#next;
  }

  async #tellOthers(): Promise<void> {
    // A round that has waited for another would open what has been closed meanwhile.
    if (!this.#redis || this.#isClosed) return;
    const untold = this.#counts.takeUntold(MOST_AT_ONCE);
    if (untold.length === 0) return;
    try {
      const adding = this.#add(this.#redis, untold);
      const totals = await withTimeLimit(adding, this.#pace.redisLimitMs, 'Redis did not count');
      for (const [i, one] of untold.entries()) this.#counts.hear(one, totals[i] ?? 0);
    } catch {
      this.telemetry.requestsCountedAlone(untold.length);
    }
  }

  onApplicationShutdown(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#redis?.disconnect();
  }

  async #add(redis: Redis, untold: ReturnType<RequestCounts['takeUntold']>): Promise<number[]> {
    if (redis.status === 'wait' || redis.status === 'end') await redis.connect();
    const pipeline = redis.pipeline();
    for (const { key, count, endsAtMs } of untold) {
      // Hashed: who has been here is nobody's business, and an address has no length limit.
      const name = `${PREFIX}${endsAtMs}:${createHash('sha1').update(key).digest('base64url')}`;
      pipeline.incrby(name, count).pexpireat(name, endsAtMs);
    }
    const answers = (await pipeline.exec()) ?? [];
    return untold.map((_, i) => {
      const [error, total] = answers[2 * i] ?? [];
      if (error) throw error;
      return Number(total);
    });
  }
}
