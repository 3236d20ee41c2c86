import { openWorld, type World } from '../../../../../test/support/world';
import { examinePostgres } from './examine-postgres';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

describe('examinePostgres, on the role of the application', () => {
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

describe('examinePostgres, on its sessions', () => {
  const sessions = async (options?: string) => {
    const address = new URL(world.config.DATABASE_URL);
    if (options !== undefined) address.searchParams.set('options', options);
    const checks = await examinePostgres({ ...world.config, DATABASE_URL: address.href });
    return checks.find(({ name }) => name === 'sessions');
  };

  it('is content with ours, and with another limit', async () => {
    expect(await sessions()).toMatchObject({ state: 'ok' });
    expect(await sessions('-c lock_timeout=2s')).toMatchObject({ state: 'ok' });
  });

  it('names what they have instead, as behind a pooler that drops it', async () => {
    const check = await sessions('-c enable_seqscan=on -c statement_timeout=0');
    expect(check).toMatchObject({ state: 'finding' });
    expect(check?.detail).toContain('enable_seqscan = on, statement_timeout = 0');
    expect(check?.fix).toContain('ALTER ROLE');
  });
});
