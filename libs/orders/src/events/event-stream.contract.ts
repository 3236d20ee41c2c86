import { FAIL_FAST, openRedis } from '@app/timeout';
import { randomUUID } from 'node:crypto';
import type { LockStore } from '../../../timeout/src/locks/lock.contract';
import { timed } from '../../../timeout/src/testing/awake-time';
import { until } from '../../../../test/support/until';
import { type EventStream, type RelayedEvent, RedisEventStream } from './event-stream';

/** An event as a consumer reads it from the stream. */
export type StreamEntry = Readonly<Record<string, string>>;

export interface EventStreamUnderTest {
  /** A stream of this key as a process of its own would have it. */
  create(key: string, maxLength: number): EventStream;
  /** What stands in the stream, oldest first. */
  entries(key: string): Promise<StreamEntry[]>;
  /** Where the stream is, to be tampered with; absent where that is asked elsewhere. */
  readonly store?: () => LockStore;
}

const LONG = 1_000_000;
/** More than the relay gives at once. */
const MANY = 1_200;
/** Of the product, for one call; what is refused is refused within one. */
const CALL_LIMIT_MS = 1_500;
const BACK_LIMIT_MS = 30_000;

/** What every stream that a shop reads does. Call it in the stream's spec. */
export function describeEventStream(name: string, subject: EventStreamUnderTest): void {
  const opened: EventStream[] = [];
  const open = (key = newKey(), maxLength = LONG) => {
    const stream = subject.create(key, maxLength);
    opened.push(stream);
    const ids = async () => (await subject.entries(key)).map(({ id }) => id);
    return { key, stream, ids };
  };
  /** Only of one whose store may be tampered with. */
  const stored = (promise: string, test: (store: LockStore) => Promise<void>): void => {
    const { store } = subject;
    if (store) it(promise, () => test(store()));
  };

  describe(`${name}: the contract of every event stream`, () => {
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((stream) => stream.close()));
    });

    it('has an entry for each event, all fields as text, and none for what there is not', async () => {
      const { key, stream } = open();
      const [first, second] = [eventOf({ from: null }), eventOf({ reason: 'of "two" lines\n' })];
      await untilTaken(stream, [first, second]);
      const asText = ({ from: _, reason: __, ...event }: RelayedEvent) => ({
        ...event,
        version: String(event.version),
      });
      const entries = await subject.entries(key);
      expect(entries.slice(0, 1)).toEqual([asText(first)]);
      expect(entries.slice(-1)).toEqual([
        { ...asText(second), from: second.from, reason: second.reason },
      ]);
    });

    it('keeps the order of more events than the relay gives at once', async () => {
      const { stream, ids } = open();
      const events = Array.from({ length: MANY }, () => eventOf());
      await untilTaken(stream, events);
      expect(firstsOf(await ids())).toEqual(events.map(({ id }) => id));
    });

    it('lets the oldest fall off, and never the newest', async () => {
      const { stream, ids } = open(newKey(), 100);
      const events = Array.from({ length: MANY }, () => eventOf());
      await untilTaken(stream, events);
      const kept = await ids();
      // Redis drops whole nodes of a hundred.
      expect(kept.length).toBeLessThanOrEqual(300);
      expect(kept.length).toBeGreaterThanOrEqual(100);
      expect(kept).toEqual(events.slice(-kept.length).map(({ id }) => id));
    });

    it('forgets what operators have said of an order, wherever it stands, and nothing else', async () => {
      const { stream, ids } = open();
      const [orderId, other] = [randomUUID(), randomUUID()];
      const said = { by: 'operator', reason: 'ann has called' };
      const before = Array.from({ length: MANY }, () => eventOf());
      const events = [
        eventOf({ orderId, ...said }),
        eventOf({ orderId: other, ...said }),
        ...before,
        eventOf({ orderId, ...said, by: 'provider' }),
        eventOf({ orderId, ...said }),
      ];
      await untilTaken(stream, events);
      expect(await stream.forgetReasons([orderId])).toBeGreaterThanOrEqual(2);
      expect(firstsOf(await ids())).toEqual(events.slice(1, -1).map(({ id }) => id));
      expect(await stream.forgetReasons([orderId])).toBe(0);
    });

    it('is one stream for all who write to it', async () => {
      const [{ key, stream, ids }, events] = [open(), [eventOf(), eventOf()]];
      await untilTaken(stream, events.slice(0, 1));
      await untilTaken(open(key).stream, events.slice(1));
      expect(firstsOf(await ids())).toEqual(events.map(({ id }) => id));
    });

    stored(
      'refuses in bounded time while its store is away, and goes on after it',
      async (store) => {
        const { stream, ids } = open();
        const events = [eventOf(), eventOf(), eventOf()];
        await untilTaken(stream, events.slice(0, 1));
        await store.kill();
        await expectRefused(stream, events.slice(1));
        await store.start();
        await untilTaken(stream, events.slice(1));
        expect(firstsOf(await ids())).toEqual(events.map(({ id }) => id));
      },
    );

    stored('lets nothing overtake what a silent store did not take', async (store) => {
      const { stream, ids } = open();
      const events = Array.from({ length: MANY }, () => eventOf());
      await untilTaken(stream, events.slice(0, 1));
      store.freeze();
      await expectRefused(stream, events.slice(1));
      store.thaw();
      await untilTaken(stream, events.slice(1));
      expect(firstsOf(await ids())).toEqual(events.map(({ id }) => id));
    });

    stored('leaves no connection behind', async (store) => {
      // One of the stream of another test may be about to end.
      const before = await store.connections();
      const stream = subject.create(newKey(), LONG);
      await untilTaken(stream, [eventOf()]);
      await stream.close();
      await until('it has hung up', async () => (await store.connections()) <= before);
    });
  });
}

async function expectRefused(stream: EventStream, events: readonly RelayedEvent[]): Promise<void> {
  const { tookMs } = await timed(() => expect(stream.append(events)).rejects.toThrow());
  expect(tookMs).toBeLessThan(2 * CALL_LIMIT_MS);
}

/** Again and again, as the relay does: a new connection takes nothing yet. One may come twice by it. */
export async function untilTaken(
  stream: EventStream,
  events: readonly RelayedEvent[],
): Promise<void> {
  const taken = (): Promise<boolean> =>
    stream.append(events).then(
      () => true,
      () => false,
    );
  await until('it takes events', taken, BACK_LIMIT_MS);
}

/** Everything has come, once or more; what comes first stands first. */
export async function expectComplete(
  subject: EventStreamUnderTest,
  key: string,
  events: readonly RelayedEvent[],
): Promise<void> {
  const ids = (await subject.entries(key)).map(({ id }) => id);
  expect(firstsOf(ids)).toEqual(events.map(({ id }) => id));
}

/** The product's, and what reads it, at a URL that is known once the tests run. */
export function redisStream(url: () => string): EventStreamUnderTest {
  const onError = (): void => undefined;
  return {
    create: (key, maxLength) => new RedisEventStream({ redis: url(), key, maxLength, onError }),
    entries: async (key) => {
      const reader = openRedis(url(), { ...FAIL_FAST, enableOfflineQueue: true }, onError);
      try {
        const rows = await until('the stream is read', () =>
          reader.xrange(key, '-', '+').catch(() => undefined),
        );
        return rows.map(([, fields]) => asEntry(fields));
      } finally {
        reader.disconnect();
      }
    },
  };
}

/** Names and values take turns. */
function asEntry(fields: readonly string[]): StreamEntry {
  const names = fields.filter((_, index) => index % 2 === 0);
  return Object.fromEntries(names.map((name, index) => [name, fields[2 * index + 1] ?? '']));
}

/** Each where it came first. */
function firstsOf(ids: readonly (string | undefined)[]): (string | undefined)[] {
  return [...new Set(ids)];
}

const newKey = (): string => `{lc}:events-${randomUUID()}`;

export function eventOf(event: Partial<RelayedEvent> = {}): RelayedEvent {
  return {
    id: randomUUID(),
    orderId: randomUUID(),
    version: 2,
    type: 'order.closed',
    from: 'pending_payment',
    to: 'closed',
    by: 'timer',
    reason: null,
    at: '2026-01-31T12:00:00.000Z',
    ...event,
  };
}
