import type { Config } from '@app/orders';
import { migrateTimeouts } from '../../libs/timeout/src/public';
import { WEBHOOK_SECRET } from '../support/app';
import { CLI_TEST_TIMEOUT_MS } from '../support/cli-world';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { endHost, expectConventions, inFourWays, lastcall } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const BY = '--reason case --actor eve';

/** Whoever follows a command that says so would migrate the order module into the host's database. */
describe('lastcall beside a host with deadlines alone', () => {
  let database: TestDatabase;
  let config: Config;

  beforeAll(async () => {
    database = await createTestDatabase();
    await migrateTimeouts({ postgres: { url: database.url } });
    config = { DATABASE_URL: database.url } as Config;
  });
  afterAll(async () => {
    await endHost();
    await database?.drop();
  });

  it.each([
    'stats',
    'orders list',
    'orders list --json',
    `orders cancel 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --yes ${BY}`,
    'customers export ann',
    'products list',
    'console open',
    'timeouts backfill',
    'timeouts backfill --dry-run',
    'sweep run',
    'sweep run --shards 2',
    'reconcile --since 7d',
  ])('refuses what is about orders, and says what is about deadlines: %s', async (command) => {
    const { code, stdout, stderr } = await lastcall(config, command.split(' '));
    const told = stdout + stderr;
    expect({ code, told }).toEqual({ code: 4, told: expect.not.stringMatching(/migrate|SECRET/) });
    expect(told).toContain('none of orders');
    expect(told).toContain("only the host's processes");
    expect(told).toContain('lastcall doctor');
  });

  it('refuses it in all four ways, also where the secret of a provider is there', async () => {
    const ways = await inFourWays(config, ['stats']);
    expectConventions(ways, 4);
    expect(JSON.parse(ways.json.stdout)).toMatchObject({ error: { code: 'deadlines_alone' } });
    const env = { SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET };
    expect((await lastcall(config, ['sweep', 'run'], { env })).code).toBe(4);
  });

  it('says as before that nobody has migrated where there is nothing at all', async () => {
    const env = { DATABASE_SCHEMA: 'elsewhere' };
    const { code, stderr } = await lastcall(config, ['stats'], { env });
    expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringContaining('migrate') });
  });
});
