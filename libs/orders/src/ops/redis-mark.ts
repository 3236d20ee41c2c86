import { randomBytes } from 'node:crypto';
import { askRedisOnce, FAIL_FAST, openRedis, withTimeLimit } from '@app/timeout';
import type { Redis } from 'ioredis';

const ANSWER_LIMIT_MS = 2_000;
const MARK_BYTES = 6;

/**
 * Which Redis this is: something random that its first process has written into it. An address says nothing to
 * compare, as names and proxies lead to one Redis by many; the mark comes along to a replica that takes over, and
 * asks for no right but to read and write our keys.
 */
export class RedisMark {
  readonly #key: string;
  #client: Redis | undefined;

  /** @param redis as `REDIS_URL`; undefined where Redis is not used */
  constructor(
    private readonly redis: string | undefined,
    prefix: string,
  ) {
    this.#key = `{${prefix}}:mark`;
  }

  /** Makes one where there is none. Null while Redis is away, which others tell of, and where it is not used. */
  async take(): Promise<string | null> {
    if (!this.redis) return null;
    const patience = { ...FAIL_FAST, enableOfflineQueue: true, maxRetriesPerRequest: 1 };
    this.#client ??= openRedis(this.redis, patience, () => undefined);
    try {
      return await withTimeLimit(this.#takeBy(this.#client), ANSWER_LIMIT_MS, 'marking Redis');
    } catch {
      return null;
    }
  }

  async #takeBy(client: Redis): Promise<string | null> {
    const there = await client.get(this.#key);
    if (there !== null) return there;
    await client.set(this.#key, randomBytes(MARK_BYTES).toString('hex'), 'NX');
    return client.get(this.#key);
  }

  /** Only looks: null where there is none, or Redis is not used. Rejects within two seconds where it is away. */
  async read(): Promise<string | null> {
    if (!this.redis) return null;
    return askRedisOnce(this.redis, (client) =>
      withTimeLimit(client.get(this.#key), ANSWER_LIMIT_MS, 'Redis did not answer'),
    );
  }

  get isUsed(): boolean {
    return this.redis !== undefined;
  }

  close(): void {
    this.#client?.disconnect();
  }
}
