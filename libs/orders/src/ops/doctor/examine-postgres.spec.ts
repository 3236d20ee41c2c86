import { openWorld, type World } from '../../../../../test/support/world';
import { examinePostgres } from './examine-postgres';

describe('examinePostgres, on the role of the application', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(async () => {
    await world?.close();
  });

  const role = async (settings: { DATABASE_URL?: string }) => {
    const checks = await examinePostgres({ ...world.config, ...settings });
    return checks.find(({ name }) => name === 'role');
  };

  it('warns of an owner, and tells how to switch', async () => {
    const check = await role({ DATABASE_URL: world.ownerUrl });
    expect(check).toMatchObject({ state: 'warning' });
    expect(check?.fix).toContain('IN ROLE lastcall_app');
  });

  it('is content with a member of lastcall_app', async () => {
    expect(await role({})).toMatchObject({ state: 'ok' });
  });
});
