import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { expectConventions, inFourWays, lastcallJson } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall sweep run', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  it('closes everything overdue, says so, and then finds nothing', async () => {
    await insertOrders(world.sql, { count: 700, closesInMs: -60_000 });
    await insertOrders(world.sql, { count: 2, closesInMs: 600_000 });
    const { code, result } = await lastcallJson<Record<string, number>>(world.config, [
      'sweep',
      'run',
    ]);
    expect(code).toBe(0);
    expect(result).toMatchObject({ found: 700, closed: 700, lost: 0, putBack: 0, failed: 0 });
    expect(result.oldestLagMs).toBeGreaterThanOrEqual(60_000);
    const rows = await world.sql.rows(
      `SELECT status, count(*)::int AS n FROM orders GROUP BY status ORDER BY status`,
    );
    expect(rows).toEqual([
      { status: 'closed', n: 700 },
      { status: 'pending_payment', n: 2 },
    ]);
    const ways = await inFourWays(world.config, ['sweep', 'run']);
    expectConventions(ways, 0);
    expect(ways.pipe.stdout).toMatch(/^found\s+0\nclosed\s+0\n/);
  });
});
