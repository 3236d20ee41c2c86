import { type Config, DATABASE } from '@app/orders';
import { withTimeLimit } from '@app/timeout';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { API_CONFIG } from '../api-config';

/** Longer than that, and a customer would not have waited either. */
const POSTGRES_LIMIT_MS = 1_000;
const REDIS_LIMIT_MS = 500;

export interface DependencyStates {
  readonly postgres: 'up' | 'down';
  readonly redis: 'up' | 'down';
}

/** Asks what this process depends on whether it is there. */
@Injectable()
export class Dependencies implements OnApplicationShutdown {
  readonly #redis: Redis;
  #asking: Promise<DependencyStates> | undefined;

  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(API_CONFIG) config: Config,
  ) {
    this.#redis = new Redis(config.REDIS_URL, {
      lazyConnect: true,
      connectTimeout: REDIS_LIMIT_MS,
      maxRetriesPerRequest: 0,
      // Tried again with the next question; in between nobody needs this connection.
      retryStrategy: () => null,
    });
    // What is wrong with Redis is the answer to the question, and no event of its own.
    this.#redis.on('error', () => undefined);
  }

  /** Whoever asks while the answer is on its way shares it: this is open to everybody. */
  ask(): Promise<DependencyStates> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  onApplicationShutdown(): void {
    this.#redis.disconnect();
  }

  async #ask(): Promise<DependencyStates> {
    const [postgres, redis] = await Promise.all([
      isUp(() => this.dataSource.query('SELECT 1'), POSTGRES_LIMIT_MS),
      isUp(() => this.#pingRedis(), REDIS_LIMIT_MS),
    ]);
    return { postgres, redis };
  }

  async #pingRedis(): Promise<void> {
    if (this.#redis.status === 'wait' || this.#redis.status === 'end') await this.#redis.connect();
    await this.#redis.ping();
  }
}

async function isUp(question: () => Promise<unknown>, limitMs: number): Promise<'up' | 'down'> {
  try {
    await withTimeLimit(question(), limitMs, 'no answer');
    return 'up';
  } catch {
    return 'down';
  }
}
