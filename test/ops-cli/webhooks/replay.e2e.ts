import { randomUUID } from 'node:crypto';
import type { WebhookEntry } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import {
  expectConventions,
  inFourWays,
  lastcall,
  lastcallJson,
  operatorNamed,
} from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall webhooks list and replay', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  const webhook = async (status: WebhookEntry['status'], result: string): Promise<string> => {
    const id = randomUUID();
    const money = { amount: 500, currency: 'EUR', paidAt: new Date() };
    const ids = { paymentId: randomUUID(), providerPaymentId: `pay-${id}`, eventId: id };
    const notice = { type: 'payment.succeeded', ...ids, money };
    await world.sql.rows(
      `INSERT INTO webhook_events (id, provider, event_id, notice, status, result, processed_at)
       VALUES ($1, 'sandbox', $2, $3, $4, $5, now())`,
      [id, id, JSON.stringify(notice), status, result],
    );
    return id;
  };

  it('lists those held, in all four ways', async () => {
    const held = await webhook('held', 'unknown_reference');
    await webhook('processed', 'known');
    const ways = await inFourWays(world.config, ['webhooks', 'list', '--status', 'held']);
    expectConventions(ways, 0);
    for (const { stdout } of [ways.tty, ways.pipe, ways.noColor]) {
      expect(stdout).toContain('unknown_reference');
    }
    const { items } = JSON.parse(ways.json.stdout) as { items: WebhookEntry[] };
    expect(items.map(({ id }) => id)).toEqual([held]);
  });

  it('has a held one applied again by the next sweep', async () => {
    const id = await webhook('held', 'unknown_reference');
    const args = ['webhooks', 'replay', id, '--reason', 'row restored', '--actor', 'eve'];
    const { code, result } = await lastcallJson<WebhookEntry>(world.config, args, { alone: true });
    expect({ code, result }).toMatchObject({ code: 0, result: { status: 'received' } });
    // It is armed before the command disconnects: a worker takes it now, and no sweep has to find it.
    expect(await world.redis.keys('{lc:alarms}:alarms:slot-*')).toHaveLength(1);
    expect((await lastcall(world.config, ['sweep', 'run'])).code).toBe(0);
    const rows = await world.sql.rows(
      `SELECT w.status, w.result, a.actor, a.action, a.reason FROM webhook_events w
         JOIN operator_actions a ON a.subject_id = w.id WHERE w.id = $1`,
      [id],
    );
    const replayed = {
      actor: operatorNamed('eve'),
      action: 'webhook.replay',
      reason: 'row restored',
    };
    expect(rows).toEqual([{ status: 'held', result: 'unknown_reference', ...replayed }]);
  });

  it('leaves a held one without effect, once, and writes down who said so', async () => {
    const id = await webhook('held', 'unknown_reference');
    const dismiss = () =>
      lastcallJson(world.config, [
        ...['webhooks', 'dismiss', id, '--reason', 'of no order', '--actor', 'eve'],
      ]);
    expect(await dismiss()).toMatchObject({ code: 0, result: { id } });
    const rows = await world.sql.rows(
      `SELECT w.result, a.actor, a.action, a.reason FROM webhook_events w
         JOIN operator_actions a ON a.subject_id = w.id WHERE w.id = $1`,
      [id],
    );
    const said = { actor: operatorNamed('eve'), action: 'webhook.dismiss', reason: 'of no order' };
    expect(rows).toEqual([{ result: 'dismissed', ...said }]);
    expect((await dismiss()).code).toBe(4);
  });

  it('refuses one that was processed, and does not find one that is not there', async () => {
    const id = await webhook('processed', 'paid');
    const [done, none] = await Promise.all([
      lastcall(world.config, ['webhooks', 'replay', id, '--reason', 'why']),
      lastcall(world.config, ['webhooks', 'replay', randomUUID(), '--reason', 'why']),
    ]);
    expect([done.code, none.code]).toEqual([4, 3]);
    expect(done.stderr).toContain('it has had its effect');
  });
});
