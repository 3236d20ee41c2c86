import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { until } from '../../../../test/support/until';
import { endpointForEach, MIA } from '../../../../test/support/webhook-endpoint';
import type { Heard } from '../../../../test/support/webhook-listener';

const bench = endpointForEach();
const { closedOrders, deliver, deliverByBoth, fails, statuses, waitIsOver, works } = bench;

/** What was told of an endpoint that was switched off. */
const switchedOff = (endpointId: string): unknown[] =>
  [...bench.world.told, ...bench.other.told]
    .filter(({ name, args }) => name === 'alert' && args[0] === 'webhook_endpoint_off')
    .map(({ args }) => args[1] as { endpointId: string })
    .filter((facts) => facts.endpointId === endpointId);

const failingForDays = (failures: number): Promise<unknown> =>
  bench.world.rows(
    `UPDATE webhook_endpoints
        SET failing_since = now() - interval '73 hours', failures = $1, paused_until = NULL`,
    [failures],
  );

it('switches off an endpoint that has failed for three days, once, and keeps what waits', async () => {
  // More than one worker takes at once: each of the two hears of failures.
  await closedOrders(20);
  const waiting: ServerResponse[] = [];
  bench.listener.answer = (_, response) => void waiting.push(response);
  const delivering = deliverByBoth();
  await until('both have some in hand', () => waiting.length === 20);
  await failingForDays(10);
  for (const response of waiting) response.writeHead(500).end();
  expect(await delivering).not.toContainEqual({ delivered: 0, failed: 0 });
  const { id } = bench.made.endpoint;
  const reason = 'it has taken nothing for 3 days';
  expect(await bench.endpoints.read(id)).toMatchObject({ status: 'off', reason });
  expect(switchedOff(id)).toEqual([{ endpointId: id, reason }]);
  expect(await statuses()).toEqual({ pending: 40 });
});

it('leaves one on that was asked a few times in three days, as where no worker ran meanwhile', async () => {
  await closedOrders(1);
  fails(500);
  await deliver();
  await failingForDays(8);
  await waitIsOver();
  expect(await deliver()).toMatchObject({ failed: 1 });
  expect(await bench.endpoints.read(bench.made.endpoint.id)).toMatchObject({ status: 'on' });
});

it('asks one again that was put off while the clock was days ahead', async () => {
  await closedOrders(1);
  const pausedFor = (time: string) =>
    bench.world.rows(`UPDATE webhook_endpoints SET paused_until = now() + interval '${time}'`);
  await pausedFor('50 seconds');
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  await pausedFor('2 days');
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
});

it('switches off an endpoint that says it is gone, and sends what waits when it is back', async () => {
  await closedOrders(1);
  fails(410);
  await deliver();
  const { id } = bench.made.endpoint;
  const reason = 'it answered 410 Gone';
  expect(await bench.endpoints.read(id)).toMatchObject({ status: 'off', reason });
  expect(switchedOff(id)).toEqual([{ endpointId: id, reason }]);
  expect(JSON.stringify(bench.world.told)).not.toContain(bench.listener.url);
  works();
  await waitIsOver();
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  expect(await bench.endpoints.switchOn(id, MIA)).toMatchObject({ status: 'on', reason: null });
  expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
});

it('tells at once how a test event fares, without keeping it', async () => {
  expect(await bench.endpoints.test(bench.made.endpoint.id)).toMatchObject({
    isDelivered: true,
    answer: 204,
  });
  const [heard] = bench.listener.heard as [Heard];
  expect(new Webhook(bench.made.secret).verify(heard.body, heard.headers)).toMatchObject({
    type: 'webhook.test',
    data: { endpointId: bench.made.endpoint.id },
  });
  expect(await statuses()).toEqual({});
});

it('writes down who did what to an endpoint, and never shows its secret again', async () => {
  const { id } = bench.made.endpoint;
  await bench.endpoints.rotate(id, 0, { actor: 'olga', reason: 'it was in a log' });
  const actions = await bench.world.rows<{ action: string; actor: string }>(
    'SELECT action, actor FROM operator_actions WHERE subject_id = $1 ORDER BY id',
    [id],
  );
  expect(actions).toEqual([
    { action: 'webhook_endpoint.create', actor: 'mia' },
    { action: 'webhook_endpoint.rotate', actor: 'olga' },
  ]);
  expect(JSON.stringify(await bench.endpoints.list())).not.toMatch(/whsec_/);
});
