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

/** As if it had last been asked so long ago, and might be again. */
const timePasses = async (time: string): Promise<void> => {
  await bench.world.rows(
    `UPDATE webhook_endpoints
        SET failing_since = failing_since - interval '${time}', failed_at = failed_at - interval '${time}'`,
  );
  await waitIsOver();
};

const failOnce = async (): Promise<void> => {
  await waitIsOver();
  expect(await deliver()).toMatchObject({ failed: 1 });
};

const isOn = async (): Promise<boolean> =>
  (await bench.endpoints.read(bench.made.endpoint.id)).status === 'on';

it('switches off an endpoint that has failed for three days, once, and keeps what waits', async () => {
  // More than one worker takes at once: each of the two hears of failures.
  await closedOrders(20);
  const waiting: ServerResponse[] = [];
  bench.listener.answer = (_, response) => void waiting.push(response);
  const delivering = deliverByBoth();
  await until('both have some in hand', () => waiting.length === 20);
  await bench.world.rows(
    `UPDATE webhook_endpoints SET failing_since = now() - interval '73 hours',
            failing_for = '72 hours', failed_at = now() - interval '1 minute', failures = 100`,
  );
  for (const response of waiting) response.writeHead(500).end();
  expect(await delivering).not.toContainEqual({ delivered: 0, failed: 0 });
  const { id } = bench.made.endpoint;
  const reason = 'it has taken nothing for 3 days';
  expect(await bench.endpoints.read(id)).toMatchObject({ status: 'off', reason });
  expect(switchedOff(id)).toEqual([{ endpointId: id, reason }]);
  expect(await statuses()).toEqual({ pending: 40 });
});

it('leaves one on that failed ten times within minutes, and was asked by nobody for days', async () => {
  await closedOrders(1);
  fails(500);
  for (let failures = 0; failures < 10; failures++) await failOnce();
  await timePasses('4 days');
  await failOnce();
  expect(await isOn()).toBe(true);
});

it('switches off one whose only event was sent in vain, every six hours, for three days', async () => {
  await closedOrders(1);
  fails(500);
  await failOnce();
  for (let hours = 6; hours < 72; hours += 6) {
    await timePasses('6 hours');
    await failOnce();
    expect({ hours, isOn: await isOn() }).toEqual({ hours, isOn: true });
  }
  await timePasses('6 hours');
  await failOnce();
  expect(await isOn()).toBe(false);
});

it('counts none of the time before an upgrade, as nobody has noted when it was asked', async () => {
  await closedOrders(1);
  fails(500);
  await failOnce();
  await bench.world.rows('UPDATE webhook_endpoints SET failed_at = NULL');
  await failOnce();
  const counted = 'SELECT failing_for::text FROM webhook_endpoints WHERE id = $1';
  expect(await bench.world.rows(counted, [bench.made.endpoint.id])).toEqual([
    { failing_for: '00:00:00' },
  ]);
});

it('counts no time from before it worked for a version that does not count it', async () => {
  await closedOrders(1);
  fails(500);
  await failOnce();
  await bench.world.rows(`UPDATE webhook_endpoints SET failing_for = '71 hours'`);
  // Such a version delivers, and fails later on, when it is replaced.
  await bench.world.rows('UPDATE webhook_endpoints SET failing_since = NULL');
  await bench.world.rows('UPDATE webhook_endpoints SET failing_since = now(), failures = 1');
  await timePasses('2 hours');
  await failOnce();
  expect(await isOn()).toBe(true);
});

it('counts no time by a clock that was ahead, and has been set back', async () => {
  await closedOrders(1);
  fails(500);
  await failOnce();
  await timePasses('6 hours');
  await failOnce();
  await timePasses('-2 days');
  await failOnce();
  const counted = 'SELECT failing_for::text FROM webhook_endpoints WHERE id = $1';
  expect(await bench.world.rows(counted, [bench.made.endpoint.id])).toEqual([
    { failing_for: expect.stringMatching(/^06:00:/) as string },
  ]);
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

it('asks within a minute with what was tried while the clock was days ahead', async () => {
  await closedOrders(1);
  fails(500);
  await deliver();
  works();
  const { id } = bench.made.endpoint;
  await bench.world.rows(
    `UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at + interval '2 days'
      WHERE endpoint_id = $1`,
    [id],
  );
  await bench.world.rows('UPDATE webhook_endpoints SET paused_until = NULL');
  // It may be in the hands of one who took it by the wrong clock.
  expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
  const soon = await bench.world.rows(
    `SELECT next_attempt_at > now() AND next_attempt_at <= now() + interval '1 minute' AS soon
       FROM webhook_deliveries WHERE endpoint_id = $1`,
    [id],
  );
  expect(soon).toEqual([{ soon: true }, { soon: true }]);
  await waitIsOver();
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

it('fails as soon as it has, and no more once it works, however soon after it worked before', async () => {
  const { id } = bench.made.endpoint;
  const failingSince = async () => (await bench.endpoints.read(id)).failingSince;
  await closedOrders(1);
  await deliver();
  await closedOrders(1);
  fails(500);
  await failOnce();
  expect(await failingSince()).not.toBeNull();
  works();
  await waitIsOver();
  await deliver();
  expect(await failingSince()).toBeNull();
});

it('leaves one deleted that says it is gone once it is deleted', async () => {
  await closedOrders(1);
  const asked: ServerResponse[] = [];
  bench.listener.answer = (_, response) => void asked.push(response);
  const delivering = deliver();
  await until('it is asked', () => asked.length === 1);
  const { id } = bench.made.endpoint;
  await bench.endpoints.delete(id, MIA);
  asked[0]?.writeHead(410).end();
  expect(await delivering).toMatchObject({ failed: 1 });
  const rows = await bench.world.rows('SELECT status FROM webhook_endpoints WHERE id = $1', [id]);
  expect(rows).toEqual([{ status: 'deleted' }]);
  expect(switchedOff(id)).toEqual([]);
  // For what follows each test.
  bench.made = await bench.endpoints.create({ url: bench.listener.url, events: ['*'] }, MIA);
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
