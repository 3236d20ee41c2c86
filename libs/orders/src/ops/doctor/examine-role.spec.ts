import { createTestDatabase, onServer } from '../../../../../test/support/database';
import { LedgerProvider } from '../../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../../test/support/world';
import { hostOptionsAsConfig } from '../../host-options';
import { migrate } from '../../migrate';
import { examinePostgres } from './examine-postgres';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

async function role(settings: { DATABASE_URL?: string }) {
  const checks = await examinePostgres({ ...world.config, ...settings });
  return checks.find(({ name }) => name === 'role');
}

const as = (url: string, username: string, password: string): string =>
  Object.assign(new URL(url), { username, password }).href;

describe('examinePostgres, on the role of the application', () => {
  it('warns of an owner, and tells how to switch', async () => {
    const check = await role({ DATABASE_URL: world.ownerUrl });
    expect(check).toMatchObject({ state: 'warning' });
    expect(check?.fix).toContain('IN ROLE lastcall_app');
  });

  it('is content with a member of lastcall_app', async () => {
    expect(await role({})).toMatchObject({ state: 'ok' });
  });

  it('tells a host steps that work, under a name that nobody has', async () => {
    const database = await createTestDatabase();
    const run = (sql: string) => onServer(database.url, (server) => server.query(sql));
    const url = as(database.url, 'shop', 'x');
    const migrateHost = (settings: Record<string, string>) =>
      migrate(
        hostOptionsAsConfig({ postgres: { url }, payments: [new LedgerProvider()], settings }),
      );
    try {
      await run("CREATE ROLE shop LOGIN SUPERUSER PASSWORD 'x'");
      await run('CREATE ROLE shop_app');
      await migrateHost({});
      const { detail, fix } = (await role({ DATABASE_URL: url })) ?? {};
      expect(detail).toBe('shop can rewrite history');
      expect(fix).toContain("settings: { DATABASE_ROLE: 'lastcall_app' }");
      await migrateHost({ DATABASE_ROLE: 'lastcall_app' });
      const [statement = '', user = ''] = /CREATE ROLE (\S+) .+ IN ROLE \w+/.exec(fix ?? '') ?? [];
      await run(statement);
      expect(await role({ DATABASE_URL: as(url, user, '...') })).toMatchObject({
        ...{ state: 'ok', detail: 'shop_app2 cannot rewrite history' },
      });
    } finally {
      await database.drop();
      await onServer(world.ownerUrl, (own) =>
        own.query('DROP ROLE IF EXISTS shop, shop_app, shop_app2'),
      );
    }
  });
});
