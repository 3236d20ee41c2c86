import {
  openRedis,
  FAIL_FAST,
  type RedisAddress,
  TimeLimitError,
  withTimeLimit,
} from '@app/timeout';
import type { Redis } from 'ioredis';
import { isUuid } from '../order/uuid';

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
  /**
   * Appends where the stream has come as far as `place`, and answers with the place of the last of these. Else
   * something is lost: it appends nothing and rejects with {@link EventsLost}. Of a stream that can tell.
   */
  appendBehind?(place: string | null, events: readonly RelayedEvent[]): Promise<string>;
  /**
   * Takes out what operators have said of these orders; answers with how many entries that was. Rejects within
   * 20 s when it could not, as a transaction waits for it: some may be gone by then, and it can be done again.
   */
  forgetReasons(orderIds: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

/** Where an event stands in the history. */
export type EventPosition = Pick<RelayedEvent, 'orderId' | 'version'>;

/** A stream had taken events that it does not have any more. */
export class EventsLost extends Error {
  /**
   * @param last the newest that it has; null where it has none
   * @param kept how many of the newest it would keep
   */
  constructor(
    readonly last: EventPosition | null,
    readonly kept: number,
  ) {
    super('The stream has lost events that it had taken');
  }
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
/** For reading a whole stream: a transaction waits, with the relay and whoever else needs its locks. */
const FORGET_LIMIT_MS = 15_000;
/** Entries that are read by one call where the whole stream is looked through. */
const SCAN = 1_000;

/**
 * A command an event would cost Node ten times as much as one call with all of them as JSON. Answers with the
 * place of the last one; where the stream has never come to the place that was named, with the fields of the
 * newest. How far it has come is not what stands there: entries are deleted, and trimmed.
 */
const APPEND = `
  local stream, kept, events, place = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
  local function has_reached(named)
    if redis.call('EXISTS', stream) == 0 then return false end
    local about = redis.call('XINFO', 'STREAM', stream)
    for i = 1, #about, 2 do
      if about[i] == 'last-generated-id' then
        local ms, n = string.match(about[i + 1], '(%d+)-(%d+)')
        local named_ms, named_n = string.match(named, '(%d+)-(%d+)')
        if ms ~= named_ms then return tonumber(ms) > tonumber(named_ms) end
        return tonumber(n) >= tonumber(named_n)
      end
    end
  end
  if place ~= '' and not has_reached(place) then
    local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
    return newest and newest[2] or {}
  end
  for _, fields in ipairs(cjson.decode(events)) do
    place = redis.call('XADD', stream, 'MAXLEN', '~', kept, '*', unpack(fields))
  end
  return place`;

interface AppendingRedis extends Redis {
  appendEvents(
    key: string,
    kept: number,
    events: string,
    place: string,
  ): Promise<string | readonly string[]>;
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
    await this.appendBehind(null, events);
  }

  async appendBehind(place: string | null, events: readonly RelayedEvent[]): Promise<string> {
    const { key, maxLength } = this.options;
    const json = JSON.stringify(events.map(fieldsOf));
    const appending = this.#client.appendEvents(key, maxLength, json, place ?? '');
    const answer = await withTimeLimit(appending, CALL_LIMIT_MS, 'Redis did not take the events');
    if (typeof answer === 'string') return answer;
    throw new EventsLost(positionOf(answer), maxLength);
  }

  async forgetReasons(orderIds: readonly string[]): Promise<number> {
    const wanted = new Set(orderIds);
    const { key } = this.options;
    const giveUpAt = performance.now() + FORGET_LIMIT_MS;
    let [forgotten, from] = [0, '-'];
    for (;;) {
      if (performance.now() > giveUpAt) {
        throw new TimeLimitError('Redis did not read all events', FORGET_LIMIT_MS);
      }
      const reading = this.#client.xrange(key, from, '+', 'COUNT', SCAN);
      const entries = await withTimeLimit(reading, CALL_LIMIT_MS, 'Redis did not read the events');
      const ids = entries.filter(([, fields]) => isReasonOf(fields, wanted)).map(([id]) => id);
      if (ids.length > 0) {
        const deleting = this.#client.xdel(key, ...ids);
        const what = 'Redis did not take out what operators have said';
        forgotten += await withTimeLimit(deleting, CALL_LIMIT_MS, what);
      }
      const last = entries.at(-1);
      if (!last || entries.length < SCAN) return forgotten;
      from = `(${last[0]}`;
    }
  }

  async close(): Promise<void> {
    this.#client.disconnect();
  }
}

const valueOf = (fields: readonly string[], name: string): string | undefined =>
  fields.find((_, index) => index % 2 === 1 && fields[index - 1] === name);

function isReasonOf(fields: readonly string[], orderIds: ReadonlySet<string>): boolean {
  return valueOf(fields, 'by') === 'operator' && orderIds.has(valueOf(fields, 'orderId') ?? '');
}

/** Null too where somebody else has written the entry. */
function positionOf(fields: readonly string[]): EventPosition | null {
  const [orderId, version] = [valueOf(fields, 'orderId') ?? '', Number(valueOf(fields, 'version'))];
  return isUuid(orderId) && Number.isInteger(version) ? { orderId, version } : null;
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
