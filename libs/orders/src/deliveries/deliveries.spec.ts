import { fanOutAll } from '../../../../test/support/fan-out-all';
import { until } from '../../../../test/support/until';
import { endpointForEach, MIA } from '../../../../test/support/webhook-endpoint';
import { Retention } from '../retention';
import { LAST_ATTEMPT } from './attempt-backoff';
import type { Deliveries } from './deliveries';
import { FanOutEvents } from './fan-out';

const NOBODY = '0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f';

const bench = endpointForEach();
const { closedOrders, deliver, fails, statuses, waitIsOver, works } = bench;

/** As often as waiting in between for three days lets it be, but for the last time. */
const triedFor3Days = () =>
  bench.world.rows('UPDATE webhook_deliveries SET attempts = $1', [LAST_ATTEMPT - 1]);

it('gives up after three days, and sends the dead again when told to', async () => {
  await closedOrders(1);
  fails(503);
  await triedFor3Days();
  await deliver();
  await waitIsOver();
  await deliver();
  expect(await statuses()).toEqual({ dead: 2 });
  const dead = await bench.deliveries.list({
    endpointId: bench.made.endpoint.id,
    status: 'dead',
    limit: 1,
  });
  expect(dead.items).toMatchObject([{ version: 2, answer: 503, nextAttemptAt: null }]);
  const rest = await bench.deliveries.list({
    ...{ endpointId: bench.made.endpoint.id, status: 'dead', limit: 1 },
    cursor: dead.nextCursor ?? undefined,
  });
  expect(rest).toMatchObject({ items: [{ version: 1 }], nextCursor: null });
  works();
  await waitIsOver();
  const again = await bench.deliveries.redeliver(bench.made.endpoint.id, undefined, MIA);
  expect(again).toEqual({ redelivered: 2 });
  await until('both are due', async () => {
    const left = `SELECT FROM webhook_deliveries
      WHERE endpoint_id = $1 AND status = 'pending' AND next_attempt_at > now()`;
    return (await bench.world.rows(left, [bench.made.endpoint.id])).length === 0;
  });
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
});

it('gives up nothing by a clock that is days ahead, or for days in which nobody asked', async () => {
  await closedOrders(1);
  fails(503);
  await bench.world.rows(`UPDATE webhook_deliveries SET retry_until = now() - interval '1 day'`);
  await deliver();
  await waitIsOver();
  await bench.world.get(Retention).runOnce();
  expect(await statuses()).toEqual({ pending: 2 });
  works();
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
});

it('gives up after six days what was refused, however seldom, and nothing that was never asked for', async () => {
  await closedOrders(1);
  fails(503);
  await deliver();
  await waitIsOver();
  const late = `UPDATE webhook_deliveries SET retry_until = now() - interval '73 hours'`;
  await bench.world.rows(`${late}, attempts = 0`);
  await bench.world.get(Retention).runOnce();
  expect(await statuses()).toEqual({ pending: 2 });
  await bench.world.rows(`${late}, attempts = 1`);
  await bench.world.get(Retention).runOnce();
  expect(await statuses()).toEqual({ dead: 2 });
});

it('gives up what has waited for three days for an endpoint that is off', async () => {
  await closedOrders(1);
  fails(410);
  await deliver();
  await waitIsOver();
  await bench.world.get(Retention).runOnce();
  expect(await statuses()).toEqual({ pending: 2 });
  await bench.world.rows(`UPDATE webhook_deliveries SET retry_until = now() - interval '1 day'`);
  await bench.world.get(Retention).runOnce();
  expect(await statuses()).toEqual({ dead: 2 });
});

it('sends nothing again, and writes nothing down, where one that is named is not there', async () => {
  await closedOrders(1);
  const all = { endpointId: bench.made.endpoint.id, limit: 10 };
  await bench.world.rows(
    `UPDATE webhook_deliveries SET status = 'dead', settled_at = now() WHERE endpoint_id = $1`,
    [all.endpointId],
  );
  const before = await bench.deliveries.list(all);
  const stranger = await bench.endpoints.create({ url: bench.listener.url, events: ['*'] }, MIA);
  const own = before.items.map(({ id }) => id);
  for (const [endpointId, ids, missing] of [
    [all.endpointId, [...own, NOBODY], NOBODY],
    // That of another endpoint is none of this one.
    [stranger.endpoint.id, own.slice(0, 1), own[0]],
  ] as const) {
    const again = bench.deliveries.redeliver(endpointId, ids, MIA);
    await expect(again).rejects.toMatchObject({
      ...{ code: 'webhook_delivery_not_found', fields: { deliveries: [missing] } },
    });
  }
  expect(await bench.deliveries.list(all)).toEqual(before);
  const actions = `SELECT FROM operator_actions WHERE action = 'webhook_endpoint.redeliver' AND subject_id = ANY ($1)`;
  expect(await bench.world.rows(actions, [[all.endpointId, stranger.endpoint.id]])).toEqual([]);
  await bench.endpoints.delete(stranger.endpoint.id, MIA);
});

it('pages on from a place, whatever became of the delivery that stood there', async () => {
  await closedOrders(3);
  const all = { endpointId: bench.made.endpoint.id };
  const list = (filter: Partial<Parameters<Deliveries['list']>[0]>) =>
    bench.deliveries.list({ ...all, limit: 2, ...filter });
  const idsOf = ({ items }: { items: readonly { id: string }[] }) => items.map(({ id }) => id);
  // Two of the same instant stand at the end of a page.
  await bench.world.rows(
    `UPDATE webhook_deliveries SET status = 'dead',
            settled_at = date_trunc('second', now()) - (number + 1) / 2 * interval '1 second'
      WHERE endpoint_id = $1`,
    [bench.made.endpoint.id],
  );
  for (const status of ['dead', undefined] as const) {
    const whole = idsOf(await list({ status, limit: 10 }));
    expect(whole).toHaveLength(6);
    const first = await list({ status });
    const last = first.items.at(-1)?.id ?? '';
    // Sent again it is not dead any more; forgotten it is nowhere.
    if (status === 'dead') await bench.deliveries.redeliver(bench.made.endpoint.id, [last], MIA);
    else await bench.world.rows('DELETE FROM webhook_deliveries WHERE id = $1', [last]);
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
  const listing = bench.deliveries.list({
    ...{ endpointId: bench.made.endpoint.id, limit: 2, cursor, status },
  });
  await expect(listing).rejects.toMatchObject({
    code: 'invalid_request',
    fields: { errors: [{ field: 'cursor' }] },
  });
});

it('forgets what was delivered a week ago, what died a month ago, and deleted endpoints', async () => {
  await closedOrders(2);
  await deliver();
  await bench.world.rows(
    `UPDATE webhook_deliveries SET settled_at = now() - interval '8 days',
            status = CASE WHEN version = 2 THEN 'dead' ELSE status END WHERE endpoint_id = $1`,
    [bench.made.endpoint.id],
  );
  await bench.world.get(Retention).runOnce();
  expect(await statuses()).toEqual({ dead: 2 });
  await bench.world.rows(`UPDATE webhook_deliveries SET settled_at = now() - interval '31 days'`);
  await bench.world.get(Retention).runOnce();
  expect(await statuses()).toEqual({});
  const { endpoint } = await bench.endpoints.create(
    { url: bench.listener.url, events: ['*'] },
    MIA,
  );
  await closedOrders(1);
  await fanOutAll(bench.world, bench.world.get(FanOutEvents));
  const waiting = `SELECT status FROM webhook_deliveries WHERE endpoint_id = '${endpoint.id}'`;
  expect(await bench.world.rows(waiting)).toContainEqual({ status: 'pending' });
  await bench.endpoints.delete(endpoint.id, MIA);
  await bench.world.rows(
    `UPDATE webhook_endpoints SET status_at = now() - interval '2 hours' WHERE status = 'deleted'`,
  );
  await bench.world.get(Retention).runOnce();
  expect(await bench.world.rows(waiting)).toEqual([]);
  const left = await bench.world.rows('SELECT id FROM webhook_endpoints');
  expect(left).toEqual([{ id: bench.made.endpoint.id }]);
});
