import { migrate } from '@app/orders';
import {
  asMigrating,
  asOwner,
  createTestDatabase,
  onServer,
  type TestDatabase,
} from '../../../test/support/database';
import { createMigratedDatabase } from '../../../test/support/migrated-database';

/** What users of the application may run of ours, in a database that goes afterwards. */
async function runnable(database: TestDatabase): Promise<string[]> {
  const owner = asOwner(database.url);
  try {
    const found = await owner.rows<{ name: string }>(
      `SELECT proname AS name FROM pg_proc
        WHERE pronamespace = 'lastcall'::regnamespace
          AND has_function_privilege('lastcall_app', oid, 'EXECUTE') ORDER BY 1`,
    );
    return found.map(({ name }) => name);
  } finally {
    await owner.close();
    await database.drop();
  }
}

/** Migrated where its owner lets nobody run what is made from then on. */
async function createHardened(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await onServer(database.url, (owner) =>
    owner.query('ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC'),
  );
  await migrate(asMigrating(database.url));
  return database;
}

it('is given the functions that it needs, where everybody is given none', async () => {
  const all = await runnable(await createMigratedDatabase());
  expect(all).toContain('event_tx');
  expect(await runnable(await createHardened())).toEqual(all);
});
