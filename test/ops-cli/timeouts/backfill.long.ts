import type { ArmFromQueryResult, BackfillResult } from '@app/timeout';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { expectConventions, inFourWays, lastcall, lastcallJson } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

type FromQueryOutcome = Omit<ArmFromQueryResult, 'cursor'> & { cursor: string | null };
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
    // Redis may be away while nothing is to be armed: what is not armed yet is not forgotten.
    const beyond = ['timeouts', 'backfill', '--dry-run'];
    expect((await lastcall(world.config, beyond)).stdout).toMatch(
      /^beyond the horizon +40, which sweeps arm as they come near$/m,
    );
  });

  it.each([
    [['--resume', 'there'], '"there" is no cursor of a backfill'],
    [['--batch', '0'], 'Expected an integer greater than or equal to 1'],
  ])('refuses %j as misuse', async (flags, why) => {
    const ended = await lastcall(world.config, ['timeouts', 'backfill', ...flags]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(why);
  });

  describe("with a query of a shop's own tables", () => {
    // As somebody writes it: with a condition and a remark.
    const query = `SELECT 'trial-end', id, ends_at FROM public.trials WHERE id > 0 -- all of them`;
    const backfill = (...flags: string[]) =>
      lastcallJson<FromQueryOutcome>(world.config, [
        'timeouts',
        'backfill',
        '--from-query',
        ...flags,
      ]);
    const armed = async (): Promise<unknown> =>
      (await world.sql.rows(`SELECT count(*)::int AS n FROM timeout_subjects`)).at(0);
    beforeAll(() =>
      world.sql.rows(`
        CREATE TABLE public.trials (id int PRIMARY KEY, ends_at timestamptz);
        -- The application may read what the shop lets it read.
        GRANT SELECT ON public.trials TO lastcall_app;
        CREATE TABLE public.wages (LIKE public.trials);
        INSERT INTO public.trials
        SELECT n, now() + (n - 100) * interval '1 hour' FROM generate_series(1, 1000) AS n`),
    );

    it('arms once what is open already, page by page, and leaves alone what is armed', async () => {
      const all = { total: 1_000, done: 1_000, overdue: 100, interrupted: false };
      const dry = await backfill(query, '--dry-run');
      expect(dry.result).toMatchObject({ ...all, dryRun: true, armed: 1_000, already: 0 });
      expect(dry.result.newKinds).toEqual(['trial-end']);
      expect(dry.stderr).toContain('nothing was armed of the kind "trial-end" before');
      expect(await armed()).toEqual({ n: 0 });
      const last = JSON.stringify(['trial-end', '899']);
      // As an earlier run had come to its end there: by the bytes of text, 9, 90, 900 and on follow.
      const rest = await backfill(`${query}\n;`, '--batch', '50', '--resume', last);
      expect(rest.result).toMatchObject({ total: 111, done: 111, armed: 111 });
      const again = await backfill(query, '--batch', '300');
      expect(again.result).toMatchObject({ ...all, armed: 889, already: 111, newKinds: [] });
      expect(again.stderr).not.toContain('warning');
      expect(again.result.cursor).toBe(JSON.stringify(['trial-end', '999']));
      expect(await armed()).toEqual({ n: 1_000 });
    });

    it.each([
      [`DELETE FROM public.trials`, 'The query has to begin with SELECT or WITH'],
      [`SELECT id FROM public.trials`, 'three columns, in this order: kind, subject, due'],
      [`${query}\nUNION ALL ${query}`, 'The query gives ["trial-end", "1"] twice'],
      [
        `SELECT 'a', id, NULL FROM public.trials`,
        '1000 rows of the query lack kind, subject or due',
      ],
      [
        `SELECT 'a', id, 'infinity'::timestamptz FROM public.trials`,
        '1000 rows of the query cannot be armed, as ["a", "1", "infinity"]',
      ],
      [
        `SELECT repeat('k', 501), id, now() FROM public.trials`,
        'a kind has 500 bytes at most, a subject 2000, and due is in the years 1 to 9999',
      ],
      [
        `WITH gone AS (DELETE FROM public.trials RETURNING id) SELECT 'a', id, now() FROM gone`,
        'query fails',
      ],
      [`SELECT 'a', id, ends_at FROM public.wages`, 'GRANT SELECT ON it'],
      ['@/nowhere.sql', '/nowhere.sql cannot be read'],
    ])('refuses %j, and changes nothing', async (wrong, why) => {
      const ended = await lastcall(world.config, ['timeouts', 'backfill', '--from-query', wrong]);
      expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(why)]);
      expect(await world.sql.rows('SELECT count(*)::int AS n FROM public.trials')).toEqual([
        { n: 1_000 },
      ]);
      expect(await armed()).toEqual({ n: 1_000 });
    });
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
