import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { insertOrders } from '../support/insert-orders';
import { lastcallJson } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('what a command with --dry-run says in JSON', () => {
  let world: CliWorld;
  let orderId: string;

  beforeAll(async () => {
    world = await startCliWorld();
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    orderId = order?.id as string;
  });
  afterAll(() => world?.close());

  it.each([
    ['timeouts backfill', () => ['timeouts', 'backfill']],
    ['orders force-close', () => ['orders', 'force-close', orderId, '--reason', 'case 17']],
    ['customers erase', () => ['customers', 'erase', 'ann', '--reason', 'request 17', '--yes']],
  ])('tells a rehearsal from the thing itself: %s', async (_, args) => {
    const rehearsed = await lastcallJson(world.config, [...args(), '--dry-run']);
    const done = await lastcallJson(world.config, args());
    expect([rehearsed, done]).toMatchObject([
      { code: 0, result: { dryRun: true } },
      { code: 0, result: { dryRun: false } },
    ]);
  });
});
