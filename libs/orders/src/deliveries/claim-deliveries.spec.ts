import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { WITH_WORK } from './claim-deliveries';
import { DeliverWebhooks } from './deliver-webhooks';
import { WebhookEndpoints } from './endpoints';

const ORDERS = 300;

let world: World;
beforeAll(async () => (world = await openWorld({ settings: { WEBHOOKS_ALLOW_PRIVATE: 'on' } })));
afterAll(() => world?.close());

/** Of the tables and their indexes, where the statement ran. */
const blocksOf = async (statement: string): Promise<number> => {
  const [row] = await world.rows<{ 'QUERY PLAN': readonly [{ Plan: Record<string, number> }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`,
  );
  const plan = row?.['QUERY PLAN'][0].Plan ?? {};
  return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
};

it('who looks for work reads little of what waits, also before Postgres has counted that', async () => {
  const asked = { url: 'http://127.0.0.1:9/', events: ['*'] };
  await world.get(WebhookEndpoints).create(asked, { actor: 'mia', reason: 'a test' });
  await world.rows(
    `INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until, next_attempt_at)
     SELECT e.id, gen_random_uuid(), 1, 'order.placed', now() + interval '1 day', now() + interval '1 hour'
       FROM webhook_endpoints e, generate_series(1, 20000)`,
  );
  const blocks = await blocksOf(WITH_WORK);
  expect(blocks).toBeGreaterThan(0);
  expect(blocks).toBeLessThan(50);
  await world.rows('DELETE FROM webhook_deliveries');
});

it('a claim takes no webhook that lies in the same place of another partition', async () => {
  const endpoints = world.get(WebhookEndpoints);
  const asked = { url: 'http://127.0.0.1:9/', events: ['*'] };
  const { endpoint } = await endpoints.create(asked, { actor: 'mia', reason: 'a test' });
  await insertOrders(world, { count: ORDERS, closesInMs: 60_000 });
  await world.rows('ALTER TABLE webhook_deliveries RENAME TO whole');
  await world.rows(
    `CREATE TABLE webhook_deliveries (LIKE whole INCLUDING DEFAULTS) PARTITION BY HASH (id);
     GRANT SELECT, UPDATE ON webhook_deliveries TO lastcall_app`,
  );
  for (const part of [0, 1, 2]) {
    await world.rows(
      `CREATE TABLE part_${part} PARTITION OF webhook_deliveries
          FOR VALUES WITH (MODULUS 3, REMAINDER ${part})`,
    );
  }
  // Every second one waits, so that equal places hold some that are due and some that are not.
  await world.rows(
    `INSERT INTO webhook_deliveries
            (number, endpoint_id, order_id, version, type, retry_until, next_attempt_at)
     SELECT n, $1, order_id, version, type, now() + interval '1 day', now() + n % 2 * interval '1 hour'
       FROM (SELECT *, row_number() OVER () AS n FROM order_events) AS events`,
    [endpoint.id],
  );
  const due = await world.rows<{ id: string }>(
    'SELECT id FROM webhook_deliveries WHERE next_attempt_at <= now()',
  );
  const claimed = await world.get(DeliverWebhooks).claim(endpoint.id);
  expect(claimed.length).toBeGreaterThan(0);
  const dueIds = new Set(due.map(({ id }) => id));
  expect(claimed.filter(({ id }) => !dueIds.has(id))).toEqual([]);
});
