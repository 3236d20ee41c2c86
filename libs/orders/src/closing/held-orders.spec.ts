import { Client } from 'pg';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';

/** Somebody has an UPDATE of many orders open while they come due. */
describe('Orders that somebody holds', () => {
  let world: World;
  let holder: Client;
  beforeAll(async () => {
    world = await openWorld();
    holder = new Client({ connectionString: world.ownerUrl });
    await holder.connect();
    await insertProduct(world, 'A', 1_000_000);
  });
  afterAll(async () => {
    await holder?.end();
    await world?.close();
  });

  it.each([
    // Found for the first time, however late: whoever pays it has it for milliseconds.
    { overdueMs: 600_000, foundHeldMs: 0, fromMs: 25, toMs: 50 },
    { overdueMs: 600_000, foundHeldMs: 100, fromMs: 25, toMs: 50 },
    { overdueMs: 10_000, foundHeldMs: 4_000, fromMs: 500, toMs: 1_000 },
    { overdueMs: 600_000, foundHeldMs: 80_000, fromMs: 10_000, toMs: 20_000 },
    { overdueMs: 600_000, foundHeldMs: 500_000, fromMs: 15_000, toMs: 30_000 },
  ])(
    'overdue for $overdueMs ms, and seen so for $foundHeldMs, come back after $fromMs to $toMs ms',
    async ({ overdueMs, foundHeldMs, fromMs, toMs }) => {
      const orders = await insertOrders(world, { count: 50, closesInMs: -overdueMs, sku: 'A' });
      const ids = orders.map(({ id }) => id);
      await world.rows(
        `UPDATE deadlines SET due_at = due_at + $2 * interval '1 ms' WHERE subject_id = ANY ($1::uuid[])`,
        [ids, foundHeldMs],
      );
      await holder.query('BEGIN');
      await holder.query('SELECT FROM lastcall.orders WHERE id = ANY ($1::uuid[]) FOR UPDATE', [
        ids,
      ]);
      const [begun] = await world.rows<{ now: Date }>('SELECT now()');
      // What is put back for milliseconds may come again before the sweep has ended.
      await world.timeouts.runSweep();
      const [ended] = await world.rows<{ now: Date }>('SELECT now()');
      const rows = await world.rows<{ due_at: Date }>(
        'SELECT due_at FROM deadlines WHERE subject_id = ANY ($1::uuid[])',
        [ids],
      );
      const dueMs = rows.map(({ due_at: dueAt }) => dueAt.getTime());
      expect(dueMs).toHaveLength(50);
      expect(Math.min(...dueMs)).toBeGreaterThanOrEqual((begun?.now.getTime() ?? NaN) + fromMs);
      expect(Math.max(...dueMs)).toBeLessThanOrEqual((ended?.now.getTime() ?? NaN) + toMs);
      expect(new Set(dueMs).size).toBeGreaterThan(1);
      await holder.query('ROLLBACK');
      await world.rows('UPDATE deadlines SET due_at = now() WHERE subject_id = ANY ($1::uuid[])', [
        ids,
      ]);
      expect(await world.timeouts.runSweep()).toMatchObject({ changed: 50, putBack: 0 });
    },
  );
});
