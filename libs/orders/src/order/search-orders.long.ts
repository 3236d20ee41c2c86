import { Client } from 'pg';
import { insertOldOrders } from '../../../../test/support/insert-old-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { dataSourceOptions } from '../data-source';
import type { Queryable } from './order-rows';
import { type OrderFilter, searchOrders } from './search-orders';

const ORDERS = 1_000_000;
const NEWEST_AT = new Date('2026-03-01T12:00:00.000Z');
/** A month of them. */
const APART_MS = 2_592;
/** What one page may read of the tables: twice what it looks at, and lines and payments of what it shows. */
const MOST_READ = 70_000;

let world: World;
let client: Client;
beforeAll(async () => {
  world = await openWorld();
  const { extra } = dataSourceOptions({
    ...{ url: world.config.DATABASE_URL, name: '', connections: 1, isLimited: false },
  });
  const { options } = extra as { options: string };
  client = new Client({ connectionString: world.ownerUrl, options });
  await client.connect();
  // Statistics are what each case makes them.
  for (const table of ['orders', 'order_items']) {
    await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  }
}, 60_000);
afterAll(async () => {
  await client?.end();
  await world?.close();
});

const sql: Queryable = {
  rows: async <Row>(text: string, params: readonly unknown[] = []) =>
    (await client.query(text, [...params])).rows as Row[],
};

/** Rows and index entries of the tables that this session has read so far. */
async function readSoFar(): Promise<number> {
  await client.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await client.query<{ n: string }>(
    `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)
          + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes) AS n`,
  );
  return Number(rows[0]?.n);
}

const day = 86_400_000;
const at = (daysAgo: number): Date => new Date(NEWEST_AT.getTime() - daysAgo * day);
const FILTERS: readonly Omit<OrderFilter, 'limit'>[] = [
  {},
  { status: 'closing' },
  { status: ['paid', 'shipped'] },
  { status: 'closed' },
  { customerId: 'old-7' },
  { customerId: 'nobody' },
  { customerId: 'old-7', status: 'paid' },
  { sku: 'OLD' },
  { sku: 'NOTHING' },
  { amount: { min: 5_000 } },
  { amount: { min: 100, max: 100 } },
  { idPrefix: '019c' },
  { idPrefix: 'ffff' },
  { since: at(1) },
  { until: at(29) },
  { since: at(15), until: at(14.9), status: 'paid' },
  { overdue: true },
  { overdue: true, customerId: 'old-7', sku: 'OLD', amount: { max: 1 }, until: at(3) },
];

async function expectBounded(): Promise<void> {
  for (const filter of FILTERS) {
    const before = await readSoFar();
    await searchOrders(sql, { ...filter, limit: 100 });
    const read = (await readSoFar()) - before;
    expect({ filter, isBounded: read < MOST_READ }).toEqual({ filter, isBounded: true });
  }
}

it('reads a bounded part of a million orders for every filter', async () => {
  // As a young shop was when it was analyzed last: a hundred orders, all of one customer and closed.
  await insertOldOrders(sql, { count: 100, newestAt: at(40), apartMs: 1_000 });
  await client.query(`UPDATE orders SET customer_id = 'old-7'`);
  await client.query('ANALYZE orders, order_items');
  await insertOldOrders(sql, { count: ORDERS, newestAt: NEWEST_AT, apartMs: APART_MS });
  await expectBounded();
  await client.query('ANALYZE orders, order_items');
  await expectBounded();
  await client.query('VACUUM ANALYZE orders, order_items');
  await expectBounded();
}, 180_000);
