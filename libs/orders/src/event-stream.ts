import { openRedis, FAIL_FAST, type RedisAddress, withTimeLimit } from '@app/timeout';
import type { Redis } from 'ioredis';
import type { RelayedEvent } from './relay-events';

/** Where order events go for the rest of the shop to read. */
export interface EventStream {
  /** Appends events in their order; rejects within a few seconds when it could not. */
  append(events: readonly RelayedEvent[]): Promise<void>;
  close(): Promise<void>;
}

export const EVENT_STREAM = Symbol('EventStream');

export interface RedisEventStreamOptions {
  readonly redis: RedisAddress;
  readonly key: string;
  /** Roughly the most events kept; older ones fall off. */
  readonly maxLength: number;
  readonly onError: (error: Error) => void;
}

const CALL_LIMIT_MS = 3_000;

/** A Redis Stream: one entry an event, with the event's id as its field `id` for deduplication. */
export class RedisEventStream implements EventStream {
  readonly #client: Redis;

  constructor(private readonly options: RedisEventStreamOptions) {
    this.#client = openRedis(options.redis, FAIL_FAST, options.onError);
  }

  async append(events: readonly RelayedEvent[]): Promise<void> {
    const pipeline = this.#client.pipeline();
    for (const event of events) {
      const fields = Object.entries(event).flatMap(([name, value]) =>
        value === null ? [] : [name, String(value)],
      );
      pipeline.xadd(this.options.key, 'MAXLEN', '~', this.options.maxLength, '*', ...fields);
    }
    const results = await withTimeLimit(
      pipeline.exec(),
      CALL_LIMIT_MS,
      'Redis did not take the events',
    );
    // A pipeline goes on after an error. Sending the whole batch again keeps each order's order.
    const failed = results?.find(([error]) => error !== null);
    if (failed?.[0]) throw failed[0];
  }

  async close(): Promise<void> {
    this.#client.disconnect();
  }
}
