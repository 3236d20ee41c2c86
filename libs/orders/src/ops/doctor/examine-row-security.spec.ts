import { openWorld, type World } from '../../../../../test/support/world';
import { examinePostgres } from './examine-postgres';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const security = async (url = world.config.DATABASE_URL) => {
  const checks = await examinePostgres({ ...world.config, DATABASE_URL: url });
  return checks.find(({ name }) => name === 'row security');
};

it('tells of tables whose rows are hidden from the application, and from nobody who owns them', async () => {
  expect(await security()).toMatchObject({ state: 'ok' });
  await world.rows('ALTER TABLE orders ENABLE ROW LEVEL SECURITY');
  await world.rows('ALTER TABLE lastcall_migrations ENABLE ROW LEVEL SECURITY');
  expect(await security()).toMatchObject({
    state: 'finding',
    detail: expect.stringMatching(/: lastcall_migrations, orders$/) as string,
    fix: expect.stringContaining('BYPASSRLS') as string,
  });
  expect(await security(world.ownerUrl)).toMatchObject({ state: 'ok' });
});
