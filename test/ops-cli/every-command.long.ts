import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { expectConventions, inFourWays } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const WHY = ['--reason', 'case 17', '--actor', 'eve'];

/** Those that list or look are run in all four ways by the tests of their own. */
describe('commands that change something', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  const recorded = () => world.sql.rows('SELECT 1 FROM operator_actions');

  it.each<[string, number, string[]]>([
    ['orders force-close', 3, ['orders', 'force-close', UNKNOWN, ...WHY]],
    ['payments settle', 3, ['payments', 'settle', UNKNOWN, '--refund', '--yes', ...WHY]],
    ['refunds retry', 3, ['refunds', 'retry', UNKNOWN, ...WHY]],
    ['refunds settle', 3, ['refunds', 'settle', UNKNOWN, '--as', 'done', '--yes', ...WHY]],
    ['orders cancel', 3, ['orders', 'cancel', UNKNOWN, '--yes', ...WHY]],
    ['orders extend', 3, ['orders', 'extend', UNKNOWN, '--by', '1m', ...WHY]],
    ['orders settle', 3, ['orders', 'settle', UNKNOWN, '--closed', '--yes', ...WHY]],
    ['refunds create', 3, ['refunds', 'create', UNKNOWN, '--amount', '1', '--yes', ...WHY]],
    ['webhooks dismiss', 3, ['webhooks', 'dismiss', UNKNOWN, ...WHY]],
    ['webhooks replay', 3, ['webhooks', 'replay', UNKNOWN, ...WHY]],
    ['products stock', 3, ['products', 'stock', 'NOTHING', '--delta', '1', ...WHY]],
    ['webhook-endpoints enable', 3, ['webhook-endpoints', 'enable', UNKNOWN, ...WHY]],
    ['webhook-endpoints rotate', 3, ['webhook-endpoints', 'rotate', UNKNOWN, ...WHY]],
    ['webhook-endpoints delete', 3, ['webhook-endpoints', 'delete', UNKNOWN, '--yes', ...WHY]],
    ['webhook-endpoints redeliver', 3, ['webhook-endpoints', 'redeliver', UNKNOWN, ...WHY]],
    ['webhook-endpoints test', 3, ['webhook-endpoints', 'test', UNKNOWN]],
    ['customers erase', 3, ['customers', 'erase', 'nobody', '--yes', ...WHY]],
    ['customers export', 3, ['customers', 'export', 'nobody']],
    ['timeouts release', 3, ['timeouts', 'release', UNKNOWN, ...WHY]],
    ['console revoke', 3, ['console', 'revoke', UNKNOWN]],
  ])('%s says in all four ways that there is no such thing', async (_, code, args) => {
    const ways = await inFourWays(world.config, args);
    expectConventions(ways, code);
    for (const { stderr, stdout } of [ways.tty, ways.pipe, ways.noColor]) {
      expect(stderr + stdout).toMatch(/There is no|None of/);
    }
    expect(await recorded()).toEqual([]);
  });

  it('timeouts resume says in all four ways that they are not stopped', async () => {
    const ways = await inFourWays(world.config, ['timeouts', 'resume', ...WHY]);
    expectConventions(ways, 4);
    expect(await recorded()).toEqual([]);
  });

  it('reconcile says in all four ways that the provider is away', async () => {
    const ways = await inFourWays(world.config, ['reconcile', '--since', '1h']);
    expectConventions(ways, 6);
    for (const { stderr, stdout } of [ways.tty, ways.pipe, ways.noColor]) {
      expect(stderr + stdout).toMatch(/provider/i);
    }
  });

  it('completion prints a script in all four ways', async () => {
    const ways = await inFourWays(world.config, ['completion', 'bash']);
    expectConventions(ways, 0);
    for (const { stdout } of [ways.tty, ways.pipe, ways.noColor]) {
      expect(stdout).toMatch(/^complete .*-F/m);
    }
  });
});
