import { randomUUID } from 'node:crypto';
import type { Delivery, Page, WebhookEndpoint, WithSecret } from '@app/orders';
import { Webhook } from 'standardwebhooks';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { expectConventions, inFourWays, lastcall, lastcallJson } from '../../support/lastcall';
import {
  type Heard,
  startWebhookListener,
  type WebhookListener,
} from '../../support/webhook-listener';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall webhook-endpoints', () => {
  let world: CliWorld;
  let listener: WebhookListener;

  beforeAll(async () => {
    listener = await startWebhookListener();
    world = await startCliWorld({ settings: { WEBHOOKS_ALLOW_PRIVATE: 'on' } });
  });
  afterAll(async () => {
    await listener?.close();
    await world?.close();
  });

  // Where webhooks may go is what the running process says: nothing of this is told to the command.
  const run = (...args: string[]) => lastcall(world.config, ['webhook-endpoints', ...args]);
  const why = ['--reason', 'the warehouse'];

  it('makes, tries, rotates, switches on, sends again and deletes', async () => {
    const args = ['create', listener.url, '--events', 'order.paid,order.closed', ...why, '--json'];
    const { endpoint, secret } = JSON.parse((await run(...args)).stdout) as WithSecret;
    const { id } = endpoint;
    expect(endpoint.events).toEqual(['order.paid', 'order.closed']);
    const tried = await run('test', id);
    expect(tried).toMatchObject({ code: 0 });
    expect(tried.stdout).toMatch(/^Delivered: it answered 204/);
    const [heard] = listener.heard as [Heard];
    new Webhook(secret).verify(heard.body, heard.headers);
    listener.answer = (_, response) => void response.writeHead(500).end();
    const refused = await run('test', id);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toMatch(/Why: +answered 500/);

    const rotated = await run('rotate', id, '--overlap', '1h', ...why);
    expect(rotated.stdout).toMatch(/secret +whsec_/);
    expect(rotated.stdout).not.toContain(secret);
    const [overlap] = await world.rows<{ minutes: number }>(
      `SELECT round(extract(epoch FROM e.previous_until - a.at) / 60)::int AS minutes
         FROM webhook_endpoints e JOIN operator_actions a ON a.subject_id = e.id
        WHERE e.id = $1 AND a.action LIKE '%rotate%'`,
      [id],
    );
    expect(overlap).toEqual({ minutes: 60 });
    await world.rows(
      `INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until, status, settled_at)
       VALUES ($1, gen_random_uuid(), 1, 'order.paid', now(), 'dead', now())`,
      [id],
    );
    const dead = await lastcallJson<Page<Delivery>>(world.config, [
      ...['webhook-endpoints', 'deliveries', id, '--status', 'dead'],
    ]);
    expect(dead.result.items).toMatchObject([{ type: 'order.paid', status: 'dead' }]);
    const nobody = await run('redeliver', id, '--delivery', randomUUID(), ...why);
    expect(nobody).toMatchObject({ code: 3 });
    expect(nobody.stderr).toContain('This endpoint has no delivery');
    const again = await run('redeliver', id, ...why);
    expect(again).toMatchObject({ stdout: '1 will be sent again\n', stderr: '' });
    await world.rows(`UPDATE webhook_endpoints SET status = 'off', status_reason = 'gone'`);
    expect((await run('enable', id, ...why)).stdout).toContain('is on');

    const ways = await inFourWays(world.config, ['webhook-endpoints', 'list']);
    expectConventions(ways, 0);
    expect(ways.json.stdout).not.toContain('whsec_');
    const { items } = JSON.parse(ways.json.stdout) as Page<WebhookEndpoint>;
    expect(items.map((one) => one.id)).toEqual([id]);

    expect(await run('delete', id, ...why)).toMatchObject({ code: 8 });
    expect(await run('delete', id, ...why, '--yes')).toMatchObject({ code: 0 });
    expect(await run('test', id)).toMatchObject({ code: 3 });
  });

  it('says of what it sends again that it waits, and what is left for another time', async () => {
    const added = await run('add', listener.url, '--json');
    const { id } = (JSON.parse(added.stdout) as WithSecret).endpoint;
    await world.rows(
      `INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until, status, settled_at)
       SELECT $1, gen_random_uuid(), 1, 'order.paid', now(), 'dead', now() FROM generate_series(1, 10001)`,
      [id],
    );
    await world.rows(`UPDATE webhook_endpoints SET status = 'off' WHERE id = $1`, [id]);
    const most = await run('redeliver', id, ...why);
    expect(most.stdout).toBe('10000 will be sent again\n');
    expect(most.stderr).toMatch(/off: they wait[^]*webhook-endpoints enable /);
    expect(most.stderr).toMatch(/Others may be dead still: run it again/);
    const rest = await run('redeliver', id, ...why);
    expect(rest.stdout).toBe('1 will be sent again\n');
    expect(rest.stderr).not.toContain('dead still');
    expect(await run('remove', id, ...why, '--yes')).toMatchObject({ code: 0 });
  });

  it('adds without a reason and removes, as clients type it', async () => {
    const added = await run('add', listener.url, '--json');
    expect(added).toMatchObject({ code: 0 });
    const { id } = (JSON.parse(added.stdout) as WithSecret).endpoint;
    expect(await run('remove', id, '--yes')).toMatchObject({ code: 2 });
    expect(await run('remove', id, ...why, '--yes')).toMatchObject({ code: 0 });
    const recorded = await world.rows<{ reason: string }>(
      'SELECT reason FROM operator_actions WHERE subject_id = $1 ORDER BY id',
      [id],
    );
    expect(recorded.map(({ reason }) => reason)).toEqual(['webhook-endpoints create', why[1]]);
  });

  it('refuses events that are none', async () => {
    const odd = await run('create', 'https://shop.example/', '--events', 'order.lost', ...why);
    expect(odd.code).toBe(2);
    expect(odd.stderr).toContain('order.paid');
  });
});

describe('lastcall webhook-endpoints beside a process that sends into no private network', () => {
  let world: CliWorld;
  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world?.close());

  it('refuses an address of one', async () => {
    const inner = await lastcall(world.config, [
      ...['webhook-endpoints', 'create', 'https://169.254.169.254/', '--reason', 'the warehouse'],
    ]);
    expect(inner.code).toBe(2);
    expect(inner.stderr).toContain('private network');
  });
});
