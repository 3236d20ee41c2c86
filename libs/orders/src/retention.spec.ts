import { insertOrders } from '../../../test/support/insert-orders';
import { openWorld, type World } from '../../../test/support/world';
import { Retention } from './retention';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const left = async (table: string): Promise<string[]> => {
  const column = table === 'idempotency_keys' ? 'key' : 'event_id';
  const rows = await world.rows<{ name: string }>(
    `SELECT ${column} AS name FROM ${table} ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
};

describe('Retention', () => {
  it('forgets idempotency keys after two days', async () => {
    await world.rows(
      `INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id, created_at)
       SELECT 'ann', hours || 'h', 'x', gen_random_uuid(), now() - hours * interval '1 hour'
         FROM unnest('{1, 23, 25, 47, 49, 500}'::int[]) AS hours`,
    );
    expect(await world.get(Retention).runOnce()).toMatchObject({ keys: 2 });
    expect(await left('idempotency_keys')).toEqual(['1h', '23h', '25h', '47h']);
  });

  it('forgets webhooks a week after they came, but none that is not settled', async () => {
    await world.rows(
      `INSERT INTO webhook_events (id, provider, event_id, notice, status, received_at)
       SELECT gen_random_uuid(), 'sandbox', status || ' ' || days, '{}', status,
              now() - days * interval '1 day'
         FROM unnest('{1, 6, 8}'::int[]) AS days, unnest('{received,processed,held}'::text[]) AS status`,
    );
    expect(await world.get(Retention).runOnce()).toMatchObject({ webhooks: 1 });
    const names = await left('webhook_events');
    expect(names).toHaveLength(8);
    expect(names).not.toContain('processed 8');
  });

  it('forgets after an hour what a command has left to a host and not waited for', async () => {
    await world.rows(
      `INSERT INTO errands (id, what, args, asked_at)
       SELECT gen_random_uuid(), 'orders.cancel', '[]', now() - minutes * interval '1 minute'
         FROM unnest('{1, 59, 61}'::int[]) AS minutes`,
    );
    expect(await world.get(Retention).runOnce()).toMatchObject({ errands: 1 });
  });

  it('ends after its batch when it is told to stop', async () => {
    await world.rows(
      `INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id, created_at)
       SELECT 'eve', i::text, 'x', gen_random_uuid(), now() - interval '3 days'
         FROM generate_series(1, 6000) AS i`,
    );
    let batches = 0;
    const stops = () => (batches += 1) > 1;
    expect(await world.get(Retention).runOnce(stops)).toMatchObject({ keys: 5_000, sessions: 0 });
    expect(await world.get(Retention).runOnce()).toMatchObject({ keys: 1_000 });
  });

  it('goes on beyond one batch, and does nothing when there is nothing', async () => {
    await world.rows(
      `INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id, created_at)
       SELECT 'bob', i::text, 'x', gen_random_uuid(), now() - interval '3 days'
         FROM generate_series(1, 12000) AS i`,
    );
    expect(await world.get(Retention).runOnce()).toEqual({
      keys: 12_000,
      errands: 0,
      webhooks: 0,
      limits: 0,
      sessions: 0,
      deliveries: 0,
    });
    expect(await world.get(Retention).runOnce()).toEqual({
      keys: 0,
      errands: 0,
      webhooks: 0,
      limits: 0,
      sessions: 0,
      deliveries: 0,
    });
  });
});

describe('Retention, where a table is partitioned', () => {
  let other: World;
  beforeAll(async () => {
    other = await openWorld();
    await insertOrders(other, { count: 300, closesInMs: 60_000 });
    await other.rows('TRUNCATE unpaid_orders');
    await other.rows(
      `UPDATE orders SET status = 'closed', id = ('01900000-0000' || substr(id::text, 14))::uuid
        WHERE id IN (SELECT id FROM (
          SELECT id, row_number() OVER (ORDER BY id) AS i FROM orders) AS o WHERE i % 2 = 1)`,
    );
  });
  afterAll(() => other?.close());

  // Every second one is old, so that equal places hold old and new ones.
  it.each([
    [
      'idempotency_keys',
      'customer_id',
      `(customer_id, key, body_hash, order_id, created_at)
       SELECT i::text, 'k', 'x', gen_random_uuid(), now() - i % 2 * interval '3 days'`,
    ],
    [
      'payment_keys',
      'order_id',
      `(order_id, key, payment_id, created_at)
       SELECT gen_random_uuid(), 'k', gen_random_uuid(), now() - i % 2 * interval '3 days'`,
    ],
    [
      'extension_keys',
      'order_id',
      `(order_id, key, body_hash, created_at)
       SELECT gen_random_uuid(), 'k', 'x', now() - i % 2 * interval '3 days'`,
    ],
    [
      'refund_keys',
      'order_id',
      `(order_id, key, body_hash, refund_ids, created_at)
       SELECT gen_random_uuid(), 'k', 'x', '{}', now() - i % 2 * interval '3 days'`,
    ],
    [
      'unpaid_orders',
      'order_id',
      `(customer_id, order_id) SELECT customer_id, id FROM orders ORDER BY id`,
    ],
    [
      'webhook_events',
      'id',
      `(id, provider, event_id, notice, status, received_at)
       SELECT gen_random_uuid(), 'sandbox', i::text, '{}', 'processed',
              now() - i % 2 * interval '8 days'`,
    ],
  ])(
    'forgets no row of %s that lies in the same place of another partition',
    async (table, key, rows) => {
      await other.rows(`ALTER TABLE ${table} RENAME TO whole_${table}`);
      await other.rows(
        `CREATE TABLE ${table} (LIKE whole_${table} INCLUDING DEFAULTS) PARTITION BY HASH (${key});
         GRANT SELECT, UPDATE, DELETE ON ${table} TO lastcall_app`,
      );
      for (const part of [0, 1, 2]) {
        await other.rows(
          `CREATE TABLE ${table}_${part} PARTITION OF ${table} FOR VALUES WITH (MODULUS 3, REMAINDER ${part})`,
        );
      }
      const series = rows.includes('FROM') ? '' : 'FROM generate_series(1, 300) AS i';
      await other.rows(`INSERT INTO ${table} ${rows} ${series}`);
      const { keys, webhooks, limits } = await other.get(Retention).runOnce();
      const left = await other.rows(`SELECT 1 FROM ${table}`);
      expect({ forgotten: keys + webhooks + limits, left: left.length }).toEqual({
        forgotten: 150,
        left: 150,
      });
    },
  );
});
