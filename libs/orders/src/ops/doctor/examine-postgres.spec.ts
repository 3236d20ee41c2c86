import { randomBytes } from 'node:crypto';
import { openWorld, type World } from '../../../../../test/support/world';
import { migrate } from '../../migrate';
import { examinePostgres } from './examine-postgres';

describe('examinePostgres, on the role of the application', () => {
  const user = `app_${randomBytes(4).toString('hex')}`;
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
    await migrate({ ...world.config, DATABASE_ROLE: 'lastcall_app' });
    await world.rows(`CREATE ROLE ${user} LOGIN PASSWORD 'app' IN ROLE lastcall_app`);
  });
  afterAll(async () => {
    await world?.rows(`DROP ROLE IF EXISTS ${user}`);
    await world?.close();
  });

  const role = async (settings: { DATABASE_URL?: string }) => {
    const checks = await examinePostgres({ ...world.config, ...settings });
    return checks.find(({ name }) => name === 'role');
  };

  it('warns of an owner, and tells how to switch', async () => {
    const check = await role({});
    expect(check).toMatchObject({ state: 'warning' });
    expect(check?.fix).toContain('IN ROLE lastcall_app');
  });

  it('is content with a member of lastcall_app', async () => {
    const url = new URL(world.config.DATABASE_URL);
    [url.username, url.password] = [user, 'app'];
    expect(await role({ DATABASE_URL: url.href })).toMatchObject({ state: 'ok' });
  });
});
