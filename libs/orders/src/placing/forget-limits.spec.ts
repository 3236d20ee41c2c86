import type { DataSource } from 'typeorm';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { ForgetLimits } from './forget-limits';

const BATCH = 500;
const never = (): boolean => false;
/** UUIDv7 of 2024, the second a millisecond later: the orders were placed long ago. */
const LONG_AGO = { pending_payment: '01900000-0000', closed: '01900000-0001' };

let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(() => world?.close());

/** Orders with what limits remember of them; those that are `isOld` were placed long ago. */
async function remembered(
  count: number,
  status: keyof typeof LONG_AGO,
  isOld: boolean,
): Promise<void> {
  const customerId = `${status} ${isOld ? 'then' : 'now'}`;
  await insertOrders(world, { count, closesInMs: 60_000, customerId });
  await world.rows(`DELETE FROM unpaid_orders WHERE customer_id = $1`, [customerId]);
  const id = isOld ? `('${LONG_AGO[status]}' || substr(id::text, 14))::uuid` : 'id';
  await world.rows(`UPDATE orders SET status = $2, id = ${id} WHERE customer_id = $1`, [
    customerId,
    status,
  ]);
  await world.rows(
    `INSERT INTO unpaid_orders (customer_id, order_id) SELECT customer_id, id FROM orders WHERE customer_id = $1`,
    [customerId],
  );
}

const left = async (): Promise<Record<string, number>> => {
  const rows = await world.rows<{ customer_id: string; n: number }>(
    'SELECT customer_id, count(*)::int AS n FROM unpaid_orders GROUP BY 1',
  );
  return Object.fromEntries(rows.map(({ customer_id: id, n }) => [id, n]));
};

describe('ForgetLimits', () => {
  it('forgets orders of yesterday that are over, behind any number of those that are not', async () => {
    await remembered(3 * BATCH, 'pending_payment', true);
    await remembered(10, 'closed', true);
    await remembered(10, 'closed', false);
    const forgetting = new ForgetLimits(world.dataSource);
    // Two statements a run: the second run goes on where the first has ended.
    expect(await forgetting.run(BATCH, 2, never)).toBe(0);
    expect(await forgetting.run(BATCH, 2, never)).toBe(10);
    expect(await left()).toEqual({ 'pending_payment then': 3 * BATCH, 'closed now': 10 });
    await world.rows(`UPDATE orders SET status = 'paid' WHERE status = 'pending_payment'`);
    await forgetting.run(BATCH, 5, never);
    expect(await left()).toEqual({ 'closed now': 10 });
  });

  it('looks at no order of today', async () => {
    for (const table of ['orders', 'unpaid_orders'])
      await world.owner.rows(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
    await remembered(1_000, 'closed', false);
    await world.rows('VACUUM ANALYZE orders');
    const runner = await beginHeldOpen(world.dataSource);
    const stay = Object.create(runner, { release: { value: async () => undefined } }) as object;
    const inOne = Object.create(world.dataSource, { createQueryRunner: { value: () => stay } });
    const blocks = async (): Promise<number> => {
      const [row] = (await runner.query(
        `SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::int AS n FROM pg_class
          WHERE relname IN ('orders', 'orders_pkey', 'unpaid_orders', 'unpaid_orders_by_age', 'unpaid_orders_pkey')`,
      )) as [{ n: number }];
      return row.n;
    };
    try {
      const before = await blocks();
      expect(await new ForgetLimits(inOne as DataSource).run(BATCH, 100, never)).toBe(0);
      expect((await blocks()) - before).toBeLessThan(10);
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  });

  it('forgets streaks of yesterday, and leaves those that somebody holds for the next time', async () => {
    await world.rows(
      `INSERT INTO unpaid_streaks (customer_id, in_a_row, last_at)
       SELECT 'customer-' || i, 1, now() - i % 2 * interval '2 days' FROM generate_series(1, 1200) AS i`,
    );
    const holder = await beginHeldOpen(world.dataSource);
    await holder.query(`SELECT FROM unpaid_streaks WHERE customer_id = 'customer-1' FOR UPDATE`);
    const forgetting = new ForgetLimits(world.dataSource);
    expect(await forgetting.run(BATCH, 100, never)).toBe(599);
    await holder.rollbackTransaction();
    await holder.release();
    expect(await forgetting.run(BATCH, 100, never)).toBe(1);
    expect(await world.rows('SELECT FROM unpaid_streaks')).toHaveLength(600);
  });
});
