import type { BackfillResult } from '@app/timeout';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { expectConventions, inFourWays, lastcall, lastcallJson } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

type Outcome = BackfillResult & { dryRun: boolean };

describe('lastcall timeouts backfill', () => {
  let world: CliWorld;

  beforeAll(async () => {
    world = await startCliWorld();
    const nearMs = Array.from({ length: 3_000 }, (_, n) => 300_000 + n * 100);
    await insertOrders(world.sql, { count: 3_000, closesInMs: nearMs });
    await insertOrders(world.sql, { count: 50, closesInMs: -60_000 });
    await insertOrders(world.sql, { count: 40, closesInMs: 86_400_000 });
  });
  afterAll(() => world.close());

  const alarms = (): Promise<number> => world.redis.zcard('{lc:alarms}:alarms:delayed');

  it('counts without arming in a dry run, in all four ways', async () => {
    await world.redis.flushdb();
    const ways = await inFourWays(world.config, ['timeouts', 'backfill', '--dry-run']);
    expectConventions(ways, 0);
    const outcome = JSON.parse(ways.json.stdout) as Outcome;
    expect(outcome).toMatchObject({ dryRun: true, total: 3_090, done: 3_090, interrupted: false });
    expect(outcome).toMatchObject({ covered: 3_000, overdue: 50, waiting: 40 });
    expect(await alarms()).toBe(0);
  });

  it('arms a slot for everything within the horizon, and nothing more when repeated', async () => {
    await world.redis.flushdb();
    const first = await lastcallJson<Outcome>(world.config, ['timeouts', 'backfill']);
    expect(first.code).toBe(0);
    expect(first.result).toMatchObject({ done: 3_090, covered: 3_000, overdue: 50, waiting: 40 });
    const armed = await alarms();
    expect(armed).toBeGreaterThanOrEqual(3_000);
    const second = await lastcallJson<Outcome>(world.config, ['timeouts', 'backfill']);
    expect(second.result.done).toBe(3_090);
    // What is overdue rings at once, by an alarm of the moment.
    expect(await alarms()).toBeLessThanOrEqual(armed + 1);
    expect((await lastcall(world.config, ['timeouts', 'verify'])).stdout).toContain('MISSING');
  });

  it.each([
    [['--resume', 'there'], '"there" is no cursor of a backfill'],
    [['--batch', '0'], 'Expected an integer greater than or equal to 1'],
  ])('refuses %j as misuse', async (flags, why) => {
    const ended = await lastcall(world.config, ['timeouts', 'backfill', ...flags]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(why);
  });

  it('says what to do when Redis is down', async () => {
    const env = { REDIS_URL: 'redis://127.0.0.1:1' };
    const ended = await lastcall(world.config, ['timeouts', 'backfill'], { env });
    expect(ended.code).toBe(6);
    expect(ended.stderr).toMatch(
      /Error: The alarm store does not answer\nWhy: .+Redis.+\nNext: {2}start it/,
    );
  });
});
