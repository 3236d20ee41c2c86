import { openRedis, FAIL_FAST, type RedisAddress, withTimeLimit } from '@app/timeout';
import type { Redis } from 'ioredis';

/** What consumers of the stream read; every value is a string there. */
export interface RelayedEvent {
  readonly id: string;
  readonly orderId: string;
  readonly version: number;
  readonly type: string;
  readonly from: string | null;
  readonly to: string;
  readonly by: string;
  readonly reason: string | null;
  readonly at: string;
}

/** Where order events go: at least once each, and in order for each order. */
export interface EventSink {
  /** Appends some hundreds of events in their order; rejects within 1.5 s when it could not. */
  append(events: readonly RelayedEvent[]): Promise<void>;
}

/** Where order events go for the rest of the shop to read. */
export interface EventStream extends EventSink {
  /** Takes out what operators have said of these orders; answers with how many entries that was. */
  forgetReasons(orderIds: readonly string[]): Promise<number>;
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

/** Well within the seconds that a transaction of the relay's may be idle. */
const CALL_LIMIT_MS = 1_500;
/** Entries that are read by one call where the whole stream is looked through. */
const SCAN = 1_000;

/** A command an event would cost Node ten times as much as one call with all of them as JSON. */
const APPEND = `
  for _, fields in ipairs(cjson.decode(ARGV[2])) do
    redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', unpack(fields))
  end`;

interface AppendingRedis extends Redis {
  appendEvents(key: string, maxLength: number, json: string): Promise<null>;
}

/**
 * Where there is no Redis: events count as relayed and go nowhere. `order_events` keeps them, and
 * `GET /v1/orders/{id}/events` reads them from there.
 */
export class NoEventStream implements EventStream {
  async append(): Promise<void> {}

  async forgetReasons(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {}
}

/** A Redis Stream: one entry an event, with the event's id as its field `id` for deduplication. */
export class RedisEventStream implements EventStream {
  readonly #client: AppendingRedis;

  constructor(private readonly options: RedisEventStreamOptions) {
    const client = openRedis(options.redis, FAIL_FAST, options.onError);
    client.defineCommand('appendEvents', { numberOfKeys: 1, lua: APPEND });
    this.#client = client as AppendingRedis;
  }

  async append(events: readonly RelayedEvent[]): Promise<void> {
    const { key, maxLength } = this.options;
    const json = JSON.stringify(events.map(fieldsOf));
    const appending = this.#client.appendEvents(key, maxLength, json);
    await withTimeLimit(appending, CALL_LIMIT_MS, 'Redis did not take the events');
  }

  async forgetReasons(orderIds: readonly string[]): Promise<number> {
    const wanted = new Set(orderIds);
    const { key } = this.options;
    let [forgotten, from] = [0, '-'];
    for (;;) {
      const reading = this.#client.xrange(key, from, '+', 'COUNT', SCAN);
      const entries = await withTimeLimit(reading, CALL_LIMIT_MS, 'Redis did not read the events');
      const ids = entries.filter(([, fields]) => isReasonOf(fields, wanted)).map(([id]) => id);
      if (ids.length > 0) forgotten += await this.#client.xdel(key, ...ids);
      const last = entries.at(-1);
      if (!last || entries.length < SCAN) return forgotten;
      from = `(${last[0]}`;
    }
  }

  async close(): Promise<void> {
    this.#client.disconnect();
  }
}

function isReasonOf(fields: readonly string[], orderIds: ReadonlySet<string>): boolean {
  const value = (name: string): string => fields[fields.indexOf(name) + 1] ?? '';
  return value('by') === 'operator' && orderIds.has(value('orderId'));
}

/** Names and values in turn, as XADD takes them. */
function fieldsOf(event: RelayedEvent): string[] {
  const fields: string[] = [];
  for (const name of Object.keys(event) as (keyof RelayedEvent)[]) {
    const value = event[name];
    if (value !== null) fields.push(name, String(value));
  }
  return fields;
}
