import { askRedisOnce, databaseId, openRedis, PATIENT, withTimeLimit } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { readInstallationId } from '../providers/installation-id';

const ANSWER_LIMIT_MS = 2_000;

export interface RedisOwnerOptions {
  /** As `REDIS_URL`; undefined where Redis is not used. */
  readonly redis: string | undefined;
  /** What our keys begin with. */
  readonly prefix: string;
  readonly dataSource: DataSource;
}

/** Installations, each by its database and its id. */
export interface RedisOwners {
  /** Whose process was the last to start with this Redis; null where it has heard of none. */
  readonly last: string | null;
  readonly us: string;
}

/**
 * Whose a Redis is. Its names are the same for every installation, as clients read the stream by its name:
 * two of them on one Redis take each other's alarms, and nothing else would say so.
 */
export class RedisOwner {
  readonly #key: string;

  constructor(private readonly options: RedisOwnerOptions) {
    this.#key = `{${options.prefix}}:installation`;
  }

  /**
   * Says that it is ours from now on, by one command, as soon as Redis is there: until then it waits, or for
   * ever once `ending` is aborted. Null where Redis is not used.
   */
  async take(ending: AbortSignal): Promise<RedisOwners | null> {
    const { redis } = this.options;
    if (!redis) return null;
    const us = await this.#us();
    ending.throwIfAborted();
    // That it is away is told of by the connections which the work needs.
    const client = openRedis(redis, PATIENT, () => undefined);
    const hangUp = (): void => client.disconnect();
    ending.addEventListener('abort', hangUp);
    try {
      return { last: await client.getset(this.#key, us), us };
    } finally {
      ending.removeEventListener('abort', hangUp);
      hangUp();
    }
  }

  /** Only looks, and rejects within two seconds when Redis is away. Null where Redis is not used. */
  async read(): Promise<RedisOwners | null> {
    const { redis } = this.options;
    if (!redis) return null;
    const us = await this.#us();
    const last = await askRedisOnce(redis, (client) =>
      withTimeLimit(client.get(this.#key), ANSWER_LIMIT_MS, 'Redis did not answer'),
    );
    return { last, us };
  }

  /** The id alone is the same in a restored dump, and the database in its other schemas. */
  async #us(): Promise<string> {
    const { dataSource } = this.options;
    const parts = [await databaseId(dataSource), await readInstallationId(dataSource)];
    return parts.filter((part) => part !== undefined).join(':');
  }
}
