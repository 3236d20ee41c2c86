import { insertOrders } from '../../../../test/support/insert-orders';
import { FOUND_AMONG_ALL, VIOLATIONS } from '../../../../test/support/violations';
import { openWorld, type World } from '../../../../test/support/world';
import { INVARIANTS, runInvariants } from './run-invariants';

/** Nothing sweeps or relays here: what waits for that is as old as this file has run. */
const LIMIT_MS = 3_600_000;

describe('invariants', () => {
  let world: World;
  let orderId: string;
  beforeAll(async () => {
    world = await openWorld();
    // Whoever looks at the newest alone does not look at this one.
    await insertOrders(world, { count: 1, closesInMs: 60_000, payment: 'open' });
    const orders = await insertOrders(world, { count: 3, closesInMs: 60_000, payment: 'open' });
    orderId = orders
      .map(({ id }) => id)
      .sort()
      .at(-1) as string;
  });
  afterAll(() => world?.close());

  const violated = async (sql: Pick<World, 'rows'>, newest: number | 'all' = 'all') =>
    (await runInvariants(sql, { limitMs: LIMIT_MS, newest }))
      .filter(({ violations, incomplete }) => violations > 0 || incomplete)
      .map(({ id }) => id);

  it('are the promised ones, each with a name and the promise it checks', () => {
    expect(INVARIANTS.map(({ id }) => String(id))).toEqual(Object.keys(VIOLATIONS));
    expect(INVARIANTS[1]).toMatchObject({
      name: 'not_early',
      promise: 'No order was closed by a timeout before closesAt',
    });
  });

  it('hold for a shop in order, looking at everything or at the newest alone', async () => {
    expect(await violated(world)).toEqual([]);
    expect(await violated(world, 1)).toEqual([]);
  });

  for (const { id, name } of INVARIANTS) {
    for (const [what, ...damage] of VIOLATIONS[id] as (typeof VIOLATIONS)[number]) {
      it(`${id} ${name} catches ${what}`, async () => {
        const runner = (await world.owner.dataSource()).createQueryRunner();
        await runner.startTransaction();
        try {
          const rows = async <T>(sql: string, params: readonly unknown[] = []) =>
            (await runner.query(sql, [...params], true)).records as T[];
          expect(await violated({ rows })).not.toContain(id);
          for (const sql of damage) {
            await runner.query(sql.replaceAll('$ORDER', `'${orderId}'`));
          }
          expect(await violated({ rows })).toContain(id);
          if (!FOUND_AMONG_ALL.includes(what)) expect(await violated({ rows }, 1)).toContain(id);
        } finally {
          await runner.rollbackTransaction();
          await runner.release();
        }
      });
    }
  }

  it('are left out from where it is told to stop', async () => {
    let asked = 0;
    const stops = () => (asked += 1) > 2;
    const results = await runInvariants(world, { limitMs: LIMIT_MS, newest: 'all', stops });
    expect(results.map(({ id }) => id)).toEqual([1, 2]);
  });

  it('says so when the database stopped a query', async () => {
    const stopped = Object.assign(new Error('canceling statement'), { code: '57014' });
    const rows = () => Promise.reject(stopped);
    const [first] = await runInvariants({ rows }, { limitMs: LIMIT_MS, newest: 'all' });
    expect(first).toMatchObject({ id: 1, incomplete: true });
  });
});
