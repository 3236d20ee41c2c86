import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { FIND_KEYS } from './place-group';

const KEYS = 20_000;

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await world.rows('ALTER TABLE idempotency_keys SET (autovacuum_enabled = false)');
  await insertOrders(world, { count: 3, closesInMs: 60_000 });
  await world.rows('ANALYZE idempotency_keys');
});
afterAll(() => world?.close());

interface Node {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Node[];
}

const rowsOf = (node: Node): number =>
  node['Actual Rows'] +
  (node['Rows Removed by Filter'] ?? 0) +
  (node['Rows Removed by Index Recheck'] ?? 0);

/** Rows of a table that the nodes of a plan have read. */
const readOf = (table: string, node: Node): number =>
  (node['Relation Name'] === table ? rowsOf(node) * node['Actual Loops'] : 0) +
  (node.Plans ?? []).reduce((sum, one) => sum + readOf(table, one), 0);

describe('looking up idempotency keys, with a plan from when there were three', () => {
  it('reads those that were asked for', async () => {
    const runner = world.dataSource.createQueryRunner();
    try {
      await runner.query('SET plan_cache_mode = force_generic_plan');
      await runner.query(`PREPARE find_keys (text[], text[]) AS ${FIND_KEYS}`);
      const asked = `EXECUTE find_keys ('{ann,ann}', '{a,b}')`;
      await runner.query(asked);
      for (let left = KEYS; left > 0; left -= 5_000) {
        await insertOrders(world, { count: 5_000, closesInMs: 60_000 });
      }
      const sql = `EXPLAIN (ANALYZE, FORMAT JSON) ${asked}`;
      const [told] = (await runner.query(sql)) as { 'QUERY PLAN': { Plan: Node }[] }[];
      const plan = told?.['QUERY PLAN'][0]?.Plan as Node;
      expect(readOf('idempotency_keys', plan)).toBeLessThanOrEqual(2);
    } finally {
      await runner.query('RESET plan_cache_mode; DEALLOCATE find_keys');
      await runner.release();
    }
  });
});
