import { migrate } from '@app/orders';
import type { Client } from 'pg';
import { asMigrating, createTestDatabase, onServer, type TestDatabase } from './database';

/** The whole run shares it (scripts/test.mjs); where nobody says so, this process has its own. */
const TEMPLATE = process.env.TEST_TEMPLATE ?? `test_template_${process.pid}`;

/**
 * A database of its own as the migrations leave it, for an installation that is nobody else's: a copy
 * of one that is migrated once, which takes a tenth of the time.
 */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase({ template: makeTemplate });
  // What a migration draws at random for each installation.
  await onServer(database.url, (own) =>
    own.query('UPDATE lastcall.installation SET id = DEFAULT, signing_key = DEFAULT'),
  );
  return database;
}

/** Migrates the template, unless somebody has; answers with its name. */
async function makeTemplate(server: Client): Promise<string> {
  const exists = async (): Promise<boolean> =>
    (await server.query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE])).rowCount === 1;
  if (await exists()) return TEMPLATE;
  // Of the session, as a database is made in no transaction; it ends with the connection.
  await server.query('SELECT pg_advisory_lock(hashtext($1))', [TEMPLATE]);
  if (await exists()) return TEMPLATE;
  const database = await createTestDatabase();
  await migrate(asMigrating(database.url));
  const name = new URL(database.url).pathname.slice(1);
  await server.query(`ALTER DATABASE ${name} RENAME TO ${TEMPLATE}`);
  return TEMPLATE;
}
