import type { BackfillResult } from '@app/timeout';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { lastcall, lastcallJson } from '../../support/lastcall';

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
});
