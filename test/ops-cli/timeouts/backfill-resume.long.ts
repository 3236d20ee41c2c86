import type { BackfillResult } from '@app/timeout';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { lastcall, lastcallJson } from '../../support/lastcall';
import { startTcpProxy } from '../../support/tcp-proxy';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const ORDERS = 3_000;

describe('lastcall timeouts backfill', () => {
  let world: CliWorld;

  beforeAll(async () => {
    world = await startCliWorld();
    const closesInMs = Array.from({ length: ORDERS }, (_, n) => 300_000 + n * 100);
    await insertOrders(world.sql, { count: ORDERS, closesInMs });
  });
  afterAll(() => world.close());

  const alarms = (): Promise<number> => world.redis.zcard('{lc:alarms}:alarms:delayed');

  it.each(['SIGINT', 'SIGKILL'] as const)(
    'stopped by %s and resumed, comes to the same total',
    async (signal) => {
      await world.redis.flushdb();
      // Half a minute, if nobody stopped it.
      const slowly = ['timeouts', 'backfill', '--batch', '100', '--rate', '100'];
      const interrupt = { when: /at \S+\n/, signal };
      const stopped = await lastcall(world.config, slowly, { interrupt });
      const cursors = [...stopped.stderr.matchAll(/(?:at|--resume) (\S+\/\S+)\n/g)];
      const cursor = cursors.at(-1)?.[1] as string;
      if (signal === 'SIGINT') {
        expect(stopped.code).toBe(130);
        expect(stopped.stderr).toContain(`Next: lastcall timeouts backfill --resume ${cursor}`);
      }
      const partly = await alarms();
      expect(partly).toBeGreaterThan(0);
      expect(partly).toBeLessThan(ORDERS);
      const rest = await lastcallJson<BackfillResult>(world.config, [
        'timeouts',
        'backfill',
        '--resume',
        cursor,
      ]);
      expect(rest.code).toBe(0);
      expect(rest.result.done).toBeLessThan(ORDERS);
      expect(await alarms()).toBeGreaterThanOrEqual(ORDERS);
    },
  );

  const trials = `SELECT 'trial-end', n, now() FROM generate_series(1, 3000) AS n`;

  it.each([
    [
      'DATABASE_URL',
      [],
      /; then lastcall timeouts backfill --resume payment\/\S+ --batch 100 --rate 100\n/,
    ],
    [
      'REDIS_URL',
      [],
      /; then lastcall timeouts backfill --resume payment\/\S+ --batch 100 --rate 100\n/,
    ],
    [
      'DATABASE_URL',
      ['--from-query', trials, '--dry-run'],
      /; then lastcall timeouts backfill --resume '\["trial-end","\d+"\]' --batch 100 --rate 100 --from-query 'SELECT .*' --dry-run\n/,
    ],
  ] as const)('says where to go on when what is at %s goes away %j', async (name, flags, next) => {
    const proxy = await startTcpProxy(world.config[name] ?? '');
    try {
      let cutting: Promise<void> | undefined;
      const onStderr = (stderr: string): void => {
        if (/ at \S/.test(stderr)) cutting ??= proxy.cut();
      };
      const slowly = ['timeouts', 'backfill', '--batch', '100', '--rate', '100', ...flags];
      const config = { ...world.config, [name]: proxy.url };
      const ended = await lastcall(config, slowly, { alone: true, onStderr });
      expect([ended.code, ended.stderr]).toEqual([6, expect.stringMatching(next)]);
    } finally {
      await proxy.close();
    }
  });
});
