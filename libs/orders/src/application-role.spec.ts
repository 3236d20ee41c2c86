import { migrate } from '@app/orders';
import { Client } from 'pg';
import { asMigrating, createTestDatabase } from '../../../test/support/database';

/** What users of the application may run of ours, in a database that its owner has made so. */
async function runnable(...hardening: readonly string[]): Promise<string[]> {
  const database = await createTestDatabase();
  const owner = new Client({ connectionString: database.url });
  try {
    await owner.connect();
    for (const sql of hardening) await owner.query(sql);
    await migrate(asMigrating(database.url));
    const { rows } = await owner.query<{ name: string }>(
      `SELECT proname AS name FROM pg_proc
        WHERE pronamespace = 'lastcall'::regnamespace
          AND has_function_privilege('lastcall_app', oid, 'EXECUTE') ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  } finally {
    await owner.end();
    await database.drop();
  }
}

it('is given the functions that it needs, where everybody is given none', async () => {
  const all = await runnable();
  expect(all).toContain('event_tx');
  const hardened = await runnable(
    'ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC',
  );
  expect(hardened).toEqual(all);
});
