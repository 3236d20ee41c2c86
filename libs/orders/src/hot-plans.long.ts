import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { insertProduct } from '../../../test/support/insert-orders';
import { until } from '../../../test/support/until';
import { openWorld, type World } from '../../../test/support/world';
import { PlaceOrder } from './placing/place-order';
import { ReadOrder } from './closing/read-order';

const FINISHED = 1_000_000;
const PENDING = 2_000;

/** Tables of which no hot statement may read more than it needs. */
const GROWING = [
  'orders',
  'order_items',
  'order_events',
  'payments',
  'near_deadlines',
  'far_deadlines',
  'idempotency_keys',
];

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await insertProduct(world, 'TEA', 10_000_000);
  const client = new Client({ connectionString: world.ownerUrl });
  await client.connect();
  // Placed and closed long ago; no index is worth building row by row for them.
  await client.query(
    `INSERT INTO orders (id, customer_id, status, close_reason, amount, currency, version,
                         late_payment, closes_at, closed_at)
     SELECT gen_random_uuid(), 'old-' || i % 50000, 'closed', 'payment_timeout', 100, 'EUR', 2,
            'refund', now(), now() FROM generate_series(1, $1::int) AS i`,
    [FINISHED],
  );
  await client.query(
    `INSERT INTO order_items (order_id, sku, quantity, unit_price)
     SELECT id, 'TEA', 1, 100 FROM orders`,
  );
  await client.query('ANALYZE orders, order_items');
  await client.end();
}, 120_000);
afterAll(() => world?.close());

/**
 * Rows of each growing table that were read one after the other, whole table by whole table. A
 * session tells its counts when it likes, but surely when it ends: so all others are ended first.
 */
async function rowsScanned(): Promise<Record<string, number>> {
  const client = new Client({ connectionString: world.ownerUrl });
  await client.connect();
  try {
    await until('no other session is left', async () => {
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND backend_type = 'client backend'
            AND pid <> pg_backend_pid()`,
      );
      return rowCount === 0;
    });
    const { rows } = await client.query<{ relname: string; scanned: string }>(
      `SELECT relname, seq_tup_read AS scanned FROM pg_stat_user_tables WHERE relname = ANY ($1)`,
      [GROWING],
    );
    return Object.fromEntries(rows.map(({ relname, scanned }) => [relname, Number(scanned)]));
  } finally {
    await client.end();
  }
}

it('reads no growing table as a whole to place, read or close, beside a million orders', async () => {
  const before = await rowsScanned();
  const placed = await Promise.all(
    Array.from({ length: PENDING }, () =>
      world.get(PlaceOrder).place({
        customerId: randomUUID(),
        idempotencyKey: randomUUID(),
        items: [{ sku: 'TEA', quantity: 1 }],
      }),
    ),
  );
  for (const { order } of placed.slice(0, 20)) {
    await world.get(ReadOrder).read(order.id, order.customerId);
  }
  const ids = placed.map(({ order }) => order.id);
  await world.rows(
    `UPDATE orders SET pay_by = now(), closes_at = now() WHERE id = ANY ($1::uuid[])`,
    [ids],
  );
  await world.rows(`UPDATE deadlines SET due_at = now() WHERE kind = 'payment'`);
  expect(await world.timeouts.runSweep()).toMatchObject({ changed: PENDING });
  const after = await rowsScanned();
  for (const table of GROWING) {
    // What counts is that it does not grow with the table: of a million, nothing.
    expect({ table, scanned: (after[table] ?? 0) - (before[table] ?? 0) }).toEqual({
      table,
      scanned: 0,
    });
  }
}, 120_000);
