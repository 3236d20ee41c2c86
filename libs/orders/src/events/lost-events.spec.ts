import { insertOrders } from '../../../../test/support/insert-orders';
import { relayAll } from '../../../../test/support/relay-all';
import { openWorld, type World } from '../../../../test/support/world';
import { OwnRedis } from '../../../timeout/src/testing/own-redis';
import { silentOrdersTelemetry } from '../order/telemetry';
import type { EventStream } from './event-stream';
import { eventOf, redisStream, type StreamEntry, untilTaken } from './event-stream.contract';
import { RelayEvents } from './relay-events';

const KEY = 'lc:order-events';
/** Less than what is relayed here. */
const KEPT = 6_000;

let world: World;
let redis: OwnRedis;
let stream: EventStream;
let relay: RelayEvents;
const alert = jest.fn();
const subject = redisStream(() => redis.url);
beforeAll(async () => {
  [world, redis] = await Promise.all([openWorld(), OwnRedis.start()]);
  stream = subject.create(KEY, KEPT);
  await untilTaken(stream, [eventOf()]);
  relay = new RelayEvents(world.dataSource, stream, { ...silentOrdersTelemetry, alert });
});
afterAll(async () => {
  await stream?.close();
  await redis?.remove();
  await world?.close();
});
beforeEach(async () => {
  await world.rows('TRUNCATE orders, order_items, order_events, deadlines CASCADE');
  await world.rows('UPDATE relay_cursor SET stream_place = NULL, filled_at = NULL');
  await redis.with((client) => client.del(KEY));
  alert.mockReset();
});

const due = (count: number) => insertOrders(world, { count, closesInMs: -1 });
const relayed = () => relayAll(world, relay);
/** What stands in the stream, each once: one that Redis took when nobody waited for it any more is sent again. */
async function inStream(): Promise<StreamEntry[]> {
  const entries = await subject.entries(KEY);
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()];
}
/** As a replica that had not heard of the newest ones when it was promoted, or a snapshot that was restored. */
const lose = (newest: number) =>
  redis.with(async (client) => {
    const entries = (await client.xrange(KEY, '-', '+')).slice(0, -newest);
    await client.del(KEY);
    const adding = client.pipeline();
    for (const [id, fields] of entries) adding.xadd(KEY, id, ...fields);
    await adding.exec();
    expect(await client.xlen(KEY)).toBe(entries.length);
  });

/** Each that is asked for is there; and where a version comes first, those before it have come. */
async function expectInStream(which: string): Promise<void> {
  const entries = await subject.entries(KEY);
  const rows = await world.rows<{ id: string }>(which);
  const there = new Set(entries.map(({ id }) => id));
  expect(rows.filter(({ id }) => !there.has(id))).toEqual([]);
  const highest = new Map<string, number>();
  for (const { orderId = '', version } of entries) {
    const before = highest.get(orderId) ?? 0;
    expect(Number(version)).toBeLessThanOrEqual(before + 1);
    highest.set(orderId, Math.max(before, Number(version)));
  }
}

describe('a Redis that has lost events of the stream', () => {
  it.each([1, 30, 250, 599])('is sent the newest %i again, before what is new', async (newest) => {
    for (let transaction = 0; transaction < 3; transaction++) await due(100);
    await relayed();
    await world.timeouts.runSweep();
    await relayed();
    await lose(newest);
    const [fresh] = await due(1);
    await relayed();
    await expectInStream('SELECT id FROM order_events');
    const inTurn = new Set((await subject.entries(KEY)).map(({ orderId }) => orderId));
    expect([...inTurn].at(-1)).toBe(fresh?.id);
    expect(alert.mock.calls).toEqual([['events_sent_again', { from: expect.any(String) }]]);
    await due(1);
    await relayed();
    expect(alert).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['some of them', () => lose(30)],
    ['all of them', () => redis.with((client) => client.flushall())],
  ])('is sent %s again where nothing new comes', async (_, losing) => {
    for (let transaction = 0; transaction < 3; transaction++) await due(100);
    await relayed();
    await losing();
    await relayed();
    await expectInStream('SELECT id FROM order_events');
    expect(alert.mock.calls).toEqual([['events_sent_again', { from: expect.any(String) }]]);
  });

  it('is sent again what an earlier transaction wrote later, in the midst of many', async () => {
    const late = world.dataSource.createQueryRunner();
    await late.startTransaction();
    await late.query('SELECT pg_current_xact_id()');
    const [order] = await due(2_000);
    await late.query(
      `INSERT INTO order_events (order_id, version, type, from_status, to_status, by)
       VALUES ($1, 2, 'order.closing', 'pending_payment', 'closing', 'timer')`,
      [order?.id],
    );
    await late.commitTransaction();
    await late.release();
    await relayed();
    await lose(1);
    await due(1);
    await relayed();
    await expectInStream('SELECT id FROM order_events');
  });

  it('has its stream filled again where all of it is lost', async () => {
    for (let transaction = 0; transaction < 12; transaction++) await due(1_000);
    await relayed();
    await redis.with((client) => client.flushall());
    await due(1);
    await relayed();
    await expectInStream(`SELECT id FROM order_events ORDER BY id DESC LIMIT ${KEPT}`);
    expect(alert).toHaveBeenCalledTimes(1);
  });

  it('has its stream filled once in ten minutes, where filling it is what it is lost by', async () => {
    const loseAll = () => redis.with((client) => client.flushall());
    const next = async () => {
      await loseAll();
      await due(1);
      await relayed();
      return inStream();
    };
    for (let transaction = 0; transaction < 6; transaction++) await due(1_000);
    await relayed();
    expect((await next()).length).toBeGreaterThan(5_000);
    expect(await next()).toHaveLength(1);
    expect(await next()).toHaveLength(1);
    expect(alert.mock.calls).toEqual([
      ['events_sent_again', { from: expect.any(String) }],
      ['events_lost', { since: expect.any(String) }],
    ]);
    await world.rows(`UPDATE relay_cursor SET filled_at = filled_at - interval '10 minutes'`);
    expect((await next()).length).toBeGreaterThan(5_000);
    // As where the clock of Postgres was set back.
    await world.rows(`UPDATE relay_cursor SET filled_at = now() + interval '1 hour'`);
    expect((await next()).length).toBeGreaterThan(5_000);
  });

  it('is not blamed where nothing is lost', async () => {
    await due(2_000);
    await relayed();
    await due(2_000);
    await relayed();
    expect(await inStream()).toHaveLength(4_000);
    expect(alert).not.toHaveBeenCalled();
  });

  it('is not blamed where what an operator has said last is forgotten', async () => {
    const [order] = await due(1);
    await world.rows(
      `INSERT INTO order_events (order_id, version, type, from_status, to_status, by, actor, reason)
       VALUES ($1, 2, 'order.closing', 'pending_payment', 'closing', 'operator', 'ann', 'she called')`,
      [order?.id],
    );
    await relayed();
    expect(await stream.forgetReasons([order?.id as string])).toBe(1);
    await due(1);
    await relayed();
    expect(await inStream()).toHaveLength(2);
    expect(alert).not.toHaveBeenCalled();
  });
});
