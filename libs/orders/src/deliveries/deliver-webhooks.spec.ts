import { inTransaction } from '@app/timeout';
import { Webhook } from 'standardwebhooks';
import { MAY_STAND_STILL } from '../../../../test/support/held-open';
import { insertOrders } from '../../../../test/support/insert-orders';
import { fanOutAll } from '../../../../test/support/fan-out-all';
import { until } from '../../../../test/support/until';
import { endpointForEach, MIA } from '../../../../test/support/webhook-endpoint';
import type { Heard } from '../../../../test/support/webhook-listener';
import { ForceCloseOrder } from '../closing/force-close-order';
import { ADVISORY_LOCKS } from '../order/advisory-locks';
import { RewindEvents } from '../ops/rewind-events';
import { backoffMs, LAST_ATTEMPT } from './attempt-backoff';
import { DeliverWebhooks } from './deliver-webhooks';
import { FanOutEvents } from './fan-out';

const bench = endpointForEach();
const { closedOrders, deliver, deliverByBoth, fails, statuses, waitIsOver, works } = bench;

const versions = (heard: readonly Heard[], orderId: string): number[] =>
  heard.filter((one) => one.orderId === orderId).map(({ version }) => version);

/** How many of which version are not due yet. */
async function waiting(): Promise<Record<number, number>> {
  const rows = await bench.world.rows<{ version: number; n: number }>(
    `SELECT version, count(*)::int AS n FROM webhook_deliveries
      WHERE endpoint_id = $1 AND status = 'pending' AND next_attempt_at > now() GROUP BY 1 ORDER BY 1`,
    [bench.made.endpoint.id],
  );
  return Object.fromEntries(rows.map(({ version, n }) => [version, n]));
}

it('sends what happened, signed so that the official library says it is genuine', async () => {
  const [id] = await closedOrders(1);
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
  expect(bench.listener.heard.map(({ type }) => type)).toEqual(['order.placed', 'order.closed']);
  const [placed, closed] = bench.listener.heard as [Heard, Heard];
  const verifier = new Webhook(bench.made.secret);
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
  const { secret } = await bench.endpoints.rotate(bench.made.endpoint.id, 60_000, MIA);
  expect(secret).not.toBe(bench.made.secret);
  await closedOrders(1);
  await deliver();
  const [during] = bench.listener.heard as [Heard];
  for (const one of [secret, bench.made.secret])
    new Webhook(one).verify(during.body, during.headers);
  await bench.world.rows(`UPDATE webhook_endpoints SET previous_until = now()`);
  await closedOrders(1);
  await deliver();
  const after = bench.listener.heard.at(-1) as Heard;
  new Webhook(secret).verify(after.body, after.headers);
  expect(() => new Webhook(bench.made.secret).verify(after.body, after.headers)).toThrow();
});

it('sends only what was asked for, and nothing from before', async () => {
  await closedOrders(1);
  const url = `${bench.listener.url}/some`;
  const some = await bench.endpoints.create({ url, events: ['order.closed', 'order.paid'] }, MIA);
  const [id] = await closedOrders(1);
  const rows = await bench.world.rows<{ order_id: string; type: string }>(
    'SELECT order_id, type FROM webhook_deliveries WHERE endpoint_id = $1',
    [some.endpoint.id],
  );
  expect(rows).toEqual([{ order_id: id, type: 'order.closed' }]);
  await bench.endpoints.delete(some.endpoint.id, MIA);
});

it('writes each event down once, also when it is told to begin again', async () => {
  await closedOrders(2);
  await bench.world.rows(`UPDATE webhook_cursor SET tx_from = '0', tx_until = '0', last_id = 0`);
  await Promise.all(
    [bench.world, bench.other].map((worker) => fanOutAll(bench.world, worker.get(FanOutEvents))),
  );
  expect(await statuses()).toEqual({ pending: 4 });
});

it('writes events down while the history is sealed, or a customer erased', async () => {
  const [id] = await insertOrders(bench.world, { count: 1, closesInMs: 60_000 });
  await inTransaction(bench.world.dataSource, async (tx) => {
    await tx.rows(MAY_STAND_STILL);
    await tx.rows(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.seals})`);
    await until('it is written down', async () => {
      await bench.other.get(FanOutEvents).runOnce();
      const sql = 'SELECT FROM webhook_deliveries WHERE endpoint_id = $1 AND order_id = $2';
      return (await bench.world.rows(sql, [bench.made.endpoint.id, id?.id])).length === 1;
    });
  });
});

it('tries again with the same id and body, and lets nothing of the order overtake', async () => {
  const [id] = (await closedOrders(1)) as [string];
  fails(500);
  expect(await deliver()).toEqual({ delivered: 0, failed: 1 });
  // Its turn comes within seconds, which this machine may need to get to the next line; the other's has come.
  await bench.world.rows(
    `UPDATE webhook_deliveries
        SET next_attempt_at = now() + CASE WHEN attempts > 0 THEN 1 ELSE -1 END * interval '1 hour'
      WHERE status = 'pending'`,
  );
  await bench.world.rows('UPDATE webhook_endpoints SET paused_until = NULL');
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  const { items } = await bench.deliveries.list({ endpointId: bench.made.endpoint.id, limit: 10 });
  expect(
    items.map(({ version, attempts, answer, error }) => [version, attempts, answer, error]),
  ).toEqual([
    [2, 0, null, null],
    [1, 1, 500, 'answered 500'],
  ]);
  expect((await bench.endpoints.read(bench.made.endpoint.id)).failingSince).not.toBeNull();
  works();
  await waitIsOver();
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
  expect(versions(bench.listener.heard, id)).toEqual([1, 1, 2]);
  const [first, second] = bench.listener.heard as [Heard, Heard];
  expect([second.id, second.body]).toEqual([first.id, first.body]);
  expect((await bench.endpoints.read(bench.made.endpoint.id)).failingSince).toBeNull();
});

it('looks at what is behind one that waits for hours once, and no more until then', async () => {
  const orders = await insertOrders(bench.world, { count: 3, closesInMs: 60_000 });
  await fanOutAll(bench.world, bench.world.get(FanOutEvents));
  fails(500);
  await deliver();
  await bench.world.rows(
    `UPDATE webhook_deliveries SET attempts = 9, error = 'answered 500',
            next_attempt_at = now() + interval '6 hours'`,
  );
  works();
  await bench.world.rows('UPDATE webhook_endpoints SET paused_until = NULL, failing_since = NULL');
  for (const { id } of orders) await bench.world.get(ForceCloseOrder).forceClose(id, MIA);
  await fanOutAll(bench.world, bench.world.get(FanOutEvents));
  expect(await waiting()).toEqual({ 1: 3 });
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  expect(await waiting()).toEqual({ 1: 3, 2: 3 });
  await waitIsOver();
  expect(await deliver()).toEqual({ delivered: 6, failed: 0 });
});

it('has nothing wait for one that is in the hands of another', async () => {
  await closedOrders(1);
  await bench.other.get(DeliverWebhooks).claim(bench.made.endpoint.id);
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  expect(await waiting()).toEqual({ 1: 1 });
});

it('lets other orders go on beside one whose webhook is refused', async () => {
  const [poisoned, fine] = (await closedOrders(2)) as [string, string];
  bench.listener.answer = ({ orderId }, response) =>
    void response.writeHead(orderId === poisoned ? 400 : 204).end();
  await deliver();
  // Once, or again by who took so long; never what is behind it.
  expect(new Set(versions(bench.listener.heard, poisoned))).toEqual(new Set([1]));
  expect(versions(bench.listener.heard, fine)).toEqual([1, 2]);
});

it('sends what happens to an endpoint that has refused many of one kind', async () => {
  bench.listener.answer = ({ type }, response) =>
    void response.writeHead(type === 'order.closed' ? 500 : 204).end();
  await closedOrders(40);
  await deliver();
  const [young] = await insertOrders(bench.world, { count: 1, closesInMs: 60_000 });
  await fanOutAll(bench.world, bench.world.get(FanOutEvents));
  // What was tried is due again, and later than what never was.
  await bench.world.rows(
    'UPDATE webhook_deliveries SET next_attempt_at = now() WHERE attempts > 0 AND settled_at IS NULL',
  );
  await bench.world.rows('UPDATE webhook_endpoints SET paused_until = NULL');
  await deliver();
  expect(versions(bench.listener.heard, young?.id ?? '')).toEqual([1]);
});

it('shares the work among workers: each webhook once, each order in its order', async () => {
  const ids = await closedOrders(30);
  const counts = await deliverByBoth();
  // Who finds the first of an order in the other's hands leaves the second to them.
  counts.push(await deliver());
  expect(counts.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(60);
  for (const id of ids) expect(versions(bench.listener.heard, id)).toEqual([1, 2]);
});

it('sends again what a killed worker had in hand, under the same id', async () => {
  const [id] = (await closedOrders(1)) as [string];
  const [taken] = await bench.other.get(DeliverWebhooks).claim(bench.made.endpoint.id);
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  await waitIsOver();
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
  expect(bench.listener.heard[0]?.id).toBe(`msg_${taken?.id}`);
  expect(versions(bench.listener.heard, id)).toEqual([1, 2]);
});

it('waits longer after each failure, up to six hours', () => {
  const waits = Array.from({ length: 12 }, (_, i) => backoffMs(i + 1, () => 0.5) / 1_000);
  expect(waits.slice(0, 5)).toEqual([5, 15, 45, 135, 405]);
  expect(waits.at(-1)).toBe(6 * 3_600);
  const all = Array.from({ length: LAST_ATTEMPT }, (_, i) => backoffMs(i + 1, () => 0.5));
  const hours = (many: readonly number[]) => many.reduce((sum, ms) => sum + ms / 3_600_000, 0);
  expect(hours(all)).toBeGreaterThan(72);
  expect(hours(all.slice(0, -1))).toBeLessThan(72);
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
    await bench.world.rows(`UPDATE ${table} SET ${set}`);
  }
  const [order] = await insertOrders(bench.world, { count: 1, closesInMs: 60_000 });
  expect(await bench.world.get(FanOutEvents).runOnce()).toEqual({ written: 0 });
  const rewound = await new RewindEvents(bench.world.dataSource).rewind(MIA);
  expect(rewound).toMatchObject({ wasStuck: true });
  await fanOutAll(bench.world, bench.world.get(FanOutEvents));
  const sql = 'SELECT version FROM webhook_deliveries WHERE endpoint_id = $1 AND order_id = $2';
  expect(await bench.world.rows(sql, [bench.made.endpoint.id, order?.id])).toEqual([
    { version: 1 },
  ]);
});
