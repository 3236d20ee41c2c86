import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { type ApiProcess, startApiProcess } from '../support/api-process';
import { insertOrders } from '../support/insert-orders';
import { lastcall } from '../support/lastcall';
import { until } from '../support/until';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const ORDERS = 20_000;

interface Shard {
  readonly due: number;
  readonly left: number;
  readonly ranBy: readonly string[];
}

describe('a sharded sweep over several workers', () => {
  let world: CliWorld;
  let workers: readonly ApiProcess[] = [];

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await world.close();
  });

  it('leaves nothing and does nothing twice when one is killed -9 in the middle', async () => {
    await insertOrders(world.sql, { count: ORDERS, closesInMs: -60_000 });
    // Nobody gets a turn: whoever takes a shard keeps it until we have seen who. A session that says nothing for
    // seconds hangs, and others get turns beside it: this one asks all the time.
    const turns = world.dataSource.createQueryRunner();
    const turn = (call: string, n: number) =>
      turns.query(`SELECT ${call}(hashtext('deadlines ' || current_schema || ' payment'), ${n})`);
    for (const n of [1, 2]) await turn('pg_advisory_lock', n);
    const untilShard = (what: string, condition: string) => {
      const look = async () => (await turns.query(`SELECT 1 FROM sweep_shards ${condition}`))[0];
      return until<unknown>(what, look, 60_000);
    };
    const ended = lastcall(world.config, ['sweep', 'run', '--shards', '40', '--report', '--json'], {
      alone: true,
    });
    await untilShard('it has begun', 'LIMIT 1');
    const { DATABASE_URL, REDIS_URL } = world.config;
    const settings = { DATABASE_URL, REDIS_URL: `${REDIS_URL}`, ROLES: 'worker' };
    workers = [startApiProcess(settings), startApiProcess(settings)];
    const victim = workers[0] as ApiProcess;
    await Promise.all([
      ...workers.map(({ listening }) => listening),
      untilShard('a shard of its own', `WHERE ran_by[1] LIKE '%:${victim.child.pid}'`),
    ]);
    await victim.stop();
    for (const n of [1, 2]) await turn('pg_advisory_unlock', n);
    await turns.release();
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as { left: number; closed: number; shards: Shard[] };
    expect(report.left).toBe(0);
    expect(report.shards.reduce((sum, { due }) => sum + due, 0)).toBe(ORDERS);
    // Of the others one may have stood still for as long as a lease lasts.
    const its = report.shards.filter(({ ranBy }) => ranBy[0]?.endsWith(`:${victim.child.pid}`));
    expect(its.map(({ ranBy }) => ranBy.length > 1)).toEqual([true]);
    const [books] = await world.sql.rows(
      `SELECT (SELECT count(*)::int FROM orders WHERE status = 'closed') AS closed,
              (SELECT count(*)::int FROM order_events WHERE to_status = 'closed') AS events`,
    );
    expect(books).toEqual({ closed: ORDERS, events: ORDERS });
  });
});
