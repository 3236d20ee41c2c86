import type { ServerResponse } from 'node:http';
import { inTransaction } from '@app/timeout';
import { Webhook } from 'standardwebhooks';
import { MAY_STAND_STILL } from '../../../../test/support/held-open';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import {
  type Heard,
  startWebhookListener,
  type WebhookListener,
} from '../../../../test/support/webhook-listener';
import { fanOutAll } from '../../../../test/support/fan-out-all';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { ADVISORY_LOCKS } from '../order/advisory-locks';
import { ForceCloseOrder } from '../closing/force-close-order';
import { RewindEvents } from '../ops/rewind-events';
import { Retention } from '../retention';
import { backoffMs } from './attempt-backoff';
import { Deliveries } from './deliveries';
import { DeliverWebhooks } from './deliver-webhooks';
import { WebhookEndpoints, type WithSecret } from './endpoints';
import { FanOutEvents } from './fan-out';

const MIA = { actor: 'mia', reason: 'the shop hears of it' };
const NOBODY = '0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f';
const settings = { WEBHOOKS_ALLOW_PRIVATE: 'on' };

let world: World;
let other: World;
let listener: WebhookListener;
let made: WithSecret;

beforeAll(async () => {
  world = await openWorld({ settings });
  other = await openWorld({ settings, beside: world });
  await insertProduct(world);
});
afterAll(async () => {
  await other?.close();
  await world?.close();
});
beforeEach(async () => {
  listener = await startWebhookListener();
  made = await endpoints().create({ url: listener.url, events: ['*'] }, MIA);
});
afterEach(async () => {
  await endpoints().delete(made.endpoint.id, MIA);
  await listener.close();
});

const endpoints = (): WebhookEndpoints => world.get(WebhookEndpoints);
const deliver = () => world.get(DeliverWebhooks).runOnce();
/** As if so much time had passed for all that waits. */
const waitIsOver = async (): Promise<void> => {
  await world.rows(
    `UPDATE webhook_deliveries SET next_attempt_at = now() - interval '1 second' WHERE status = 'pending'`,
  );
  await world.rows('UPDATE webhook_endpoints SET paused_until = NULL');
};
const statuses = async (): Promise<Record<string, number>> => {
  const rows = await world.rows<{ status: string; n: number }>(
    `SELECT status, count(*)::int AS n FROM webhook_deliveries WHERE endpoint_id = $1 GROUP BY status`,
    [made.endpoint.id],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
};

/** What was told of an endpoint that was switched off. */
const switchedOff = (endpointId: string): unknown[] =>
  [...world.told, ...other.told]
    .filter(({ name, args }) => name === 'alert' && args[0] === 'webhook_endpoint_off')
    .map(({ args }) => args[1] as { endpointId: string })
    .filter((facts) => facts.endpointId === endpointId);

/** Orders that are placed and closed: two events each. */
async function closedOrders(count: number): Promise<string[]> {
  const orders = await insertOrders(world, { count, closesInMs: 60_000 });
  for (const { id } of orders) await world.get(ForceCloseOrder).forceClose(id, MIA);
  await fanOutAll(world, world.get(FanOutEvents));
  return orders.map(({ id }) => id);
}

const fails = (status: number) => {
  listener.answer = (_, response) => void response.writeHead(status).end();
};
const works = (): void => fails(204);
const versions = (heard: readonly Heard[], orderId: string): number[] =>
  heard.filter((one) => one.orderId === orderId).map(({ version }) => version);

it('sends what happened, signed so that the official library says it is genuine', async () => {
  const [id] = await closedOrders(1);
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
  expect(listener.heard.map(({ type }) => type)).toEqual(['order.placed', 'order.closed']);
  const [placed, closed] = listener.heard as [Heard, Heard];
  const verifier = new Webhook(made.secret);
  expect(verifier.verify(placed.body, placed.headers)).toMatchObject({
    type: 'order.placed',
    timestamp: expect.stringMatching(/Z$/) as string,
    data: {
      orderId: id,
      version: 1,
      from: null,
      to: 'pending_payment',
      amount: 500,
      currency: 'EUR',
    },
  });
  expect(verifier.verify(closed.body, closed.headers)).toMatchObject({
    data: { orderId: id, version: 2, by: 'operator', actor: 'mia', reason: MIA.reason },
  });
  expect(() => verifier.verify(placed.body.replace('500', '501'), placed.headers)).toThrow();
  expect(() =>
    new Webhook(`whsec_${'A'.repeat(43)}=`).verify(placed.body, placed.headers),
  ).toThrow();
});

it('signs with both secrets while one replaces the other, and with the new one after', async () => {
  const { secret } = await endpoints().rotate(made.endpoint.id, 60_000, MIA);
  expect(secret).not.toBe(made.secret);
  await closedOrders(1);
  await deliver();
  const [during] = listener.heard as [Heard];
  for (const one of [secret, made.secret]) new Webhook(one).verify(during.body, during.headers);
  await world.rows(`UPDATE webhook_endpoints SET previous_until = now()`);
  await closedOrders(1);
  await deliver();
  const after = listener.heard.at(-1) as Heard;
  new Webhook(secret).verify(after.body, after.headers);
  expect(() => new Webhook(made.secret).verify(after.body, after.headers)).toThrow();
});

it('sends only what was asked for, and nothing from before', async () => {
  await closedOrders(1);
  const url = `${listener.url}/some`;
  const some = await endpoints().create({ url, events: ['order.closed', 'order.paid'] }, MIA);
  const [id] = await closedOrders(1);
  const rows = await world.rows<{ order_id: string; type: string }>(
    'SELECT order_id, type FROM webhook_deliveries WHERE endpoint_id = $1',
    [some.endpoint.id],
  );
  expect(rows).toEqual([{ order_id: id, type: 'order.closed' }]);
  await endpoints().delete(some.endpoint.id, MIA);
});

it('writes each event down once, also when it is told to begin again', async () => {
  await closedOrders(2);
  await world.rows(`UPDATE webhook_cursor SET tx_from = '0', tx_until = '0', last_id = 0`);
  await Promise.all([world, other].map((worker) => fanOutAll(world, worker.get(FanOutEvents))));
  expect(await statuses()).toEqual({ pending: 4 });
});

it('writes events down while the history is sealed, or a customer erased', async () => {
  const [id] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
  await inTransaction(world.dataSource, async (tx) => {
    await tx.rows(MAY_STAND_STILL);
    await tx.rows(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.seals})`);
    await until('it is written down', async () => {
      await other.get(FanOutEvents).runOnce();
      const sql = 'SELECT FROM webhook_deliveries WHERE endpoint_id = $1 AND order_id = $2';
      return (await world.rows(sql, [made.endpoint.id, id?.id])).length === 1;
    });
  });
});

it('tries again with the same id and body, and lets nothing of the order overtake', async () => {
  const [id] = (await closedOrders(1)) as [string];
  fails(500);
  expect(await deliver()).toEqual({ delivered: 0, failed: 1 });
  // Its turn comes within seconds, which this machine may need to get to the next line; the other's has come.
  await world.rows(
    `UPDATE webhook_deliveries
        SET next_attempt_at = now() + CASE WHEN attempts > 0 THEN 1 ELSE -1 END * interval '1 hour'
      WHERE status = 'pending'`,
  );
  await world.rows('UPDATE webhook_endpoints SET paused_until = NULL');
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  const { items } = await world.get(Deliveries).list({ endpointId: made.endpoint.id, limit: 10 });
  expect(
    items.map(({ version, attempts, answer, error }) => [version, attempts, answer, error]),
  ).toEqual([
    [2, 0, null, null],
    [1, 1, 500, 'answered 500'],
  ]);
  expect((await endpoints().read(made.endpoint.id)).failingSince).not.toBeNull();
  works();
  await waitIsOver();
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
  expect(versions(listener.heard, id)).toEqual([1, 1, 2]);
  const [first, second] = listener.heard as [Heard, Heard];
  expect([second.id, second.body]).toEqual([first.id, first.body]);
  expect((await endpoints().read(made.endpoint.id)).failingSince).toBeNull();
});

it('lets other orders go on beside one whose webhook is refused', async () => {
  const [poisoned, fine] = (await closedOrders(2)) as [string, string];
  listener.answer = ({ orderId }, response) =>
    void response.writeHead(orderId === poisoned ? 400 : 204).end();
  await deliver();
  // Once, or again by who took so long; never what is behind it.
  expect(new Set(versions(listener.heard, poisoned))).toEqual(new Set([1]));
  expect(versions(listener.heard, fine)).toEqual([1, 2]);
});

it('sends what happens to an endpoint that has refused many of one kind', async () => {
  listener.answer = ({ type }, response) =>
    void response.writeHead(type === 'order.closed' ? 500 : 204).end();
  await closedOrders(40);
  await deliver();
  const [young] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
  await fanOutAll(world, world.get(FanOutEvents));
  // What was tried is due again, and later than what never was.
  await world.rows(
    'UPDATE webhook_deliveries SET next_attempt_at = now() WHERE attempts > 0 AND settled_at IS NULL',
  );
  await world.rows('UPDATE webhook_endpoints SET paused_until = NULL');
  await deliver();
  expect(versions(listener.heard, young?.id ?? '')).toEqual([1]);
});

it('shares the work among workers: each webhook once, each order in its order', async () => {
  const ids = await closedOrders(30);
  const counts = await Promise.all(
    [world, other].map((worker) => worker.get(DeliverWebhooks).runOnce()),
  );
  // Who finds the first of an order in the other's hands leaves the second to them.
  counts.push(await deliver());
  expect(counts.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(60);
  for (const id of ids) expect(versions(listener.heard, id)).toEqual([1, 2]);
});

it('sends again what a killed worker had in hand, under the same id', async () => {
  const [id] = (await closedOrders(1)) as [string];
  const [taken] = await other.get(DeliverWebhooks).claim(made.endpoint.id);
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  await waitIsOver();
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
  expect(listener.heard[0]?.id).toBe(`msg_${taken?.id}`);
  expect(versions(listener.heard, id)).toEqual([1, 2]);
});

it('gives up after three days, and sends the dead again when told to', async () => {
  await closedOrders(1);
  fails(503);
  await world.rows(`UPDATE webhook_deliveries SET retry_until = now()`);
  await deliver();
  await waitIsOver();
  await deliver();
  expect(await statuses()).toEqual({ dead: 2 });
  const dead = await world
    .get(Deliveries)
    .list({ endpointId: made.endpoint.id, status: 'dead', limit: 1 });
  expect(dead.items).toMatchObject([{ version: 2, answer: 503, nextAttemptAt: null }]);
  const rest = await world.get(Deliveries).list({
    ...{ endpointId: made.endpoint.id, status: 'dead', limit: 1 },
    cursor: dead.nextCursor ?? undefined,
  });
  expect(rest).toMatchObject({ items: [{ version: 1 }], nextCursor: null });
  works();
  await waitIsOver();
  const again = await world.get(Deliveries).redeliver(made.endpoint.id, undefined, MIA);
  expect(again).toEqual({ redelivered: 2 });
  await until('both are due', async () => {
    const left = `SELECT FROM webhook_deliveries
      WHERE endpoint_id = $1 AND status = 'pending' AND next_attempt_at > now()`;
    return (await world.rows(left, [made.endpoint.id])).length === 0;
  });
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
});

it('sends nothing again, and writes nothing down, where one that is named is not there', async () => {
  await closedOrders(1);
  const all = { endpointId: made.endpoint.id, limit: 10 };
  await world.rows(
    `UPDATE webhook_deliveries SET status = 'dead', settled_at = now() WHERE endpoint_id = $1`,
    [all.endpointId],
  );
  const before = await world.get(Deliveries).list(all);
  const stranger = await endpoints().create({ url: listener.url, events: ['*'] }, MIA);
  const own = before.items.map(({ id }) => id);
  for (const [endpointId, ids, missing] of [
    [all.endpointId, [...own, NOBODY], NOBODY],
    // That of another endpoint is none of this one.
    [stranger.endpoint.id, own.slice(0, 1), own[0]],
  ] as const) {
    const again = world.get(Deliveries).redeliver(endpointId, ids, MIA);
    await expect(again).rejects.toMatchObject({
      ...{ code: 'webhook_delivery_not_found', fields: { deliveries: [missing] } },
    });
  }
  expect(await world.get(Deliveries).list(all)).toEqual(before);
  const actions = `SELECT FROM operator_actions WHERE action = 'webhook_endpoint.redeliver' AND subject_id = ANY ($1)`;
  expect(await world.rows(actions, [[all.endpointId, stranger.endpoint.id]])).toEqual([]);
  await endpoints().delete(stranger.endpoint.id, MIA);
});

it('pages on from a place, whatever became of the delivery that stood there', async () => {
  await closedOrders(3);
  const all = { endpointId: made.endpoint.id };
  const list = (filter: Partial<Parameters<Deliveries['list']>[0]>) =>
    world.get(Deliveries).list({ ...all, limit: 2, ...filter });
  const idsOf = ({ items }: { items: readonly { id: string }[] }) => items.map(({ id }) => id);
  // Two of the same instant stand at the end of a page.
  await world.rows(
    `UPDATE webhook_deliveries SET status = 'dead',
            settled_at = date_trunc('second', now()) - (number + 1) / 2 * interval '1 second'
      WHERE endpoint_id = $1`,
    [made.endpoint.id],
  );
  for (const status of ['dead', undefined] as const) {
    const whole = idsOf(await list({ status, limit: 10 }));
    expect(whole).toHaveLength(6);
    const first = await list({ status });
    const last = first.items.at(-1)?.id ?? '';
    // Sent again it is not dead any more; forgotten it is nowhere.
    if (status === 'dead') await world.get(Deliveries).redeliver(made.endpoint.id, [last], MIA);
    else await world.rows('DELETE FROM webhook_deliveries WHERE id = $1', [last]);
    const second = await list({ status, cursor: first.nextCursor ?? '' });
    const third = await list({ status, cursor: second.nextCursor ?? '' });
    expect([first, second, third].flatMap(idsOf)).toEqual(whole);
    expect(third.nextCursor).toBeNull();
  }
});

it.each([
  ...['x', '-1', '1.5', '', '9223372036854775808', '2026-02-30T00:00:00.000Z_1'].map((cursor) => ({
    cursor,
    status: undefined,
  })),
  { cursor: '5', status: 'dead' as const },
  { cursor: '2026-02-30T00:00:00.000Z_1', status: 'dead' as const },
  { cursor: '0000-01-01T00:00:00.000Z_1', status: 'dead' as const },
  { cursor: '2026-01-30T00:00:00.000Z_1', status: 'delivered' as const },
])('refuses $cursor as a cursor of $status deliveries', async ({ cursor, status }) => {
  const listing = world.get(Deliveries).list({
    ...{ endpointId: made.endpoint.id, limit: 2, cursor, status },
  });
  await expect(listing).rejects.toMatchObject({
    code: 'invalid_request',
    fields: { errors: [{ field: 'cursor' }] },
  });
});

it('switches off an endpoint that has failed for three days, once, and keeps what waits', async () => {
  // More than one worker takes at once: each of the two hears of failures.
  await closedOrders(20);
  const waiting: ServerResponse[] = [];
  listener.answer = (_, response) => void waiting.push(response);
  const delivering = Promise.all(
    [world, other].map((worker) => worker.get(DeliverWebhooks).runOnce()),
  );
  await until('both have some in hand', () => waiting.length === 20);
  await world.rows(`UPDATE webhook_endpoints SET failing_since = now() - interval '73 hours'`);
  for (const response of waiting) response.writeHead(500).end();
  expect(await delivering).not.toContainEqual({ delivered: 0, failed: 0 });
  const { id } = made.endpoint;
  const reason = 'it has taken nothing for 3 days';
  expect(await endpoints().read(id)).toMatchObject({ status: 'off', reason });
  expect(switchedOff(id)).toEqual([{ endpointId: id, reason }]);
  expect(await statuses()).toEqual({ pending: 40 });
});

it('switches off an endpoint that says it is gone, and sends what waits when it is back', async () => {
  await closedOrders(1);
  fails(410);
  await deliver();
  const { id } = made.endpoint;
  expect(await endpoints().read(id)).toMatchObject({
    status: 'off',
    reason: 'it answered 410 Gone',
  });
  const reason = 'it answered 410 Gone';
  expect(switchedOff(id)).toEqual([{ endpointId: id, reason }]);
  expect(JSON.stringify(world.told)).not.toContain(listener.url);
  works();
  await waitIsOver();
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  expect(await endpoints().switchOn(id, MIA)).toMatchObject({ status: 'on', reason: null });
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
});

it('tells at once how a test event fares, without keeping it', async () => {
  expect(await endpoints().test(made.endpoint.id)).toMatchObject({
    isDelivered: true,
    answer: 204,
  });
  const [heard] = listener.heard as [Heard];
  expect(new Webhook(made.secret).verify(heard.body, heard.headers)).toMatchObject({
    type: 'webhook.test',
    data: { endpointId: made.endpoint.id },
  });
  expect(await statuses()).toEqual({});
});

it('forgets what was delivered a week ago, what died a month ago, and deleted endpoints', async () => {
  await closedOrders(2);
  await deliver();
  await world.rows(
    `UPDATE webhook_deliveries SET settled_at = now() - interval '8 days',
            status = CASE WHEN version = 2 THEN 'dead' ELSE status END WHERE endpoint_id = $1`,
    [made.endpoint.id],
  );
  await world.get(Retention).runOnce();
  expect(await statuses()).toEqual({ dead: 2 });
  await world.rows(`UPDATE webhook_deliveries SET settled_at = now() - interval '31 days'`);
  await world.get(Retention).runOnce();
  expect(await statuses()).toEqual({});
  const { endpoint } = await endpoints().create({ url: listener.url, events: ['*'] }, MIA);
  await closedOrders(1);
  await fanOutAll(world, world.get(FanOutEvents));
  const waiting = `SELECT status FROM webhook_deliveries WHERE endpoint_id = '${endpoint.id}'`;
  expect(await world.rows(waiting)).toContainEqual({ status: 'pending' });
  await endpoints().delete(endpoint.id, MIA);
  await world.rows(
    `UPDATE webhook_endpoints SET status_at = now() - interval '2 hours' WHERE status = 'deleted'`,
  );
  await world.get(Retention).runOnce();
  expect(await world.rows(waiting)).toEqual([]);
  const left = await world.rows('SELECT id FROM webhook_endpoints');
  expect(left).toEqual([{ id: made.endpoint.id }]);
});

it('writes down who did what to an endpoint, and never shows its secret again', async () => {
  const { id } = made.endpoint;
  await endpoints().rotate(id, 0, { actor: 'olga', reason: 'it was in a log' });
  const actions = await world.rows<{ action: string; actor: string }>(
    'SELECT action, actor FROM operator_actions WHERE subject_id = $1 ORDER BY id',
    [id],
  );
  expect(actions).toEqual([
    { action: 'webhook_endpoint.create', actor: 'mia' },
    { action: 'webhook_endpoint.rotate', actor: 'olga' },
  ]);
  expect(JSON.stringify(await endpoints().list())).not.toMatch(/whsec_/);
});

it('waits longer after each failure, up to six hours', () => {
  const waits = Array.from({ length: 12 }, (_, i) => backoffMs(i + 1, () => 0.5) / 1_000);
  expect(waits.slice(0, 5)).toEqual([5, 15, 45, 135, 405]);
  expect(waits.at(-1)).toBe(6 * 3_600);
});

it('goes on after a dump and restore, also where it had come farther than the relay', async () => {
  await closedOrders(1);
  // As if this cluster had made so many fewer transactions than the one that the dump is from.
  const ahead = (column: string, by: number): string =>
    `${column} = (${column}::text::bigint + ${by})::text::xid8`;
  for (const [table, columns, by] of [
    ['order_events', ['tx'], 1_000_000],
    ['relay_cursor', ['tx_from', 'tx_until'], 1_000_000],
    ['webhook_cursor', ['tx_from', 'tx_until'], 2_000_000],
    ['webhook_endpoints', ['from_tx'], 2_000_000],
  ] as const) {
    const set = columns.map((column) => ahead(column, by)).join(', ');
    await world.rows(`UPDATE ${table} SET ${set}`);
  }
  const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
  expect(await world.get(FanOutEvents).runOnce()).toEqual({ written: 0 });
  const rewound = await new RewindEvents(world.dataSource).rewind(MIA);
  expect(rewound).toMatchObject({ wasStuck: true });
  await fanOutAll(world, world.get(FanOutEvents));
  const sql = 'SELECT version FROM webhook_deliveries WHERE endpoint_id = $1 AND order_id = $2';
  expect(await world.rows(sql, [made.endpoint.id, order?.id])).toEqual([{ version: 1 }]);
});
