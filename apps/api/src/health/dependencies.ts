import { type Config, DATABASE } from '@app/orders';
import { openRedis, PATIENT, withTimeLimit } from '@app/timeout';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { API_CONFIG } from '../api-config';
import { InjectPatience, type Patience } from '../patience';

export interface DependencyStates {
  readonly postgres: 'up' | 'down';
  /** `off`: this installation has none, and misses none. */
  readonly redis: 'up' | 'down' | 'off';
}

/** Asks what this process depends on whether it is there. */
@Injectable()
export class Dependencies implements OnApplicationShutdown {
  readonly #redis: Redis | undefined;
  #asking: Promise<DependencyStates> | undefined;

  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(API_CONFIG) config: Config,
    @InjectPatience() private readonly patience: Patience,
  ) {
    if (!config.REDIS_URL) return;
    const behaviour = {
      ...PATIENT,
      lazyConnect: true,
      connectTimeout: patience.redisMs,
      maxRetriesPerRequest: 0,
      // Tried again with the next question; in between nobody needs this connection.
      retryStrategy: () => null,
      sentinelRetryStrategy: () => null,
    };
    // What is wrong with Redis is the answer to the question, and no event of its own.
    this.#redis = openRedis(config.REDIS_URL, behaviour, () => undefined);
  }

  /** Whoever asks while the answer is on its way shares it: this is open to everybody. */
  ask(): Promise<DependencyStates> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  onApplicationShutdown(): void {
    this.#redis?.disconnect();
  }

  async #ask(): Promise<DependencyStates> {
    const client = this.#redis;
    const { postgresMs, redisMs } = this.patience;
    const [postgres, redis] = await Promise.all([
      isUp(() => this.dataSource.query('SELECT 1'), postgresMs),
      client ? isUp(() => ping(client), redisMs) : ('off' as const),
    ]);
    return { postgres, redis };
  }
}

async function ping(client: Redis): Promise<void> {
  if (client.status === 'wait' || client.status === 'end') await client.connect();
  await client.ping();
}

async function isUp(question: () => Promise<unknown>, limitMs: number): Promise<'up' | 'down'> {
  try {
    await withTimeLimit(question(), limitMs, 'no answer');
    return 'up';
  } catch {
    return 'down';
  }
}
