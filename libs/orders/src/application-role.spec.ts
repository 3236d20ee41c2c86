import { randomBytes } from 'node:crypto';
import { migrate } from '@app/orders';
import { DataSource, type MigrationInterface } from 'typeorm';
import {
  asMigrating,
  asOwner,
  createTestDatabase,
  onServer,
  type TestDatabase,
} from '../../../test/support/database';
import { createMigratedDatabase } from '../../../test/support/migrated-database';
import { createApplicationRole, grantToApplication } from './application-role';
import { dataSourceOptions } from './data-source';
import { MIGRATIONS } from './migrations';

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

/** Who migrates in a schema that an administrator has made, and may make none. */
async function withPlainOwner(
  database: TestDatabase,
  use: (url: string, name: string) => Promise<void>,
): Promise<void> {
  const name = `plain_owner_${randomBytes(4).toString('hex')}`;
  await onServer(database.url, async (admin) => {
    await admin.query(`CREATE ROLE ${name} LOGIN PASSWORD 'plain'`);
    await admin.query(`CREATE SCHEMA lastcall AUTHORIZATION ${name}`);
    try {
      const url = Object.assign(new URL(database.url), { username: name, password: 'plain' });
      await use(url.href, name);
    } finally {
      await admin.query(`DROP OWNED BY ${name} CASCADE`);
      await admin.query(`DROP ROLE ${name}`);
    }
  });
}

it('is asked for nothing halfway: an owner who may make no schema is told so before any migration', async () => {
  const database = await createTestDatabase();
  const owner = asOwner(database.url);
  const tables = () =>
    owner.rows(`SELECT FROM pg_class WHERE relnamespace = 'lastcall'::regnamespace`);
  try {
    await withPlainOwner(database, async (url, name) => {
      const [row] = await owner.rows<{ name: string }>('SELECT current_database() AS name');
      const missing = `GRANT CREATE ON DATABASE ${row?.name} TO ${name}`;
      await expect(migrate(asMigrating(url))).rejects.toThrow(missing);
      expect(await tables()).toEqual([]);
      await owner.rows(missing);
      expect(await migrate(asMigrating(url))).not.toEqual([]);
      expect(await tables()).not.toEqual([]);
      // It has its rights already: these are looked after without being asked for.
      await owner.rows(`REVOKE CREATE ON DATABASE ${row?.name} FROM ${name}`);
      await expect(migrate({ DATABASE_URL: url })).rejects.toThrow(missing);
    });
  } finally {
    await owner.close();
    await database.drop();
  }
});

it('is given the functions that it needs, where everybody is given none', async () => {
  const all = await runnable(await createMigratedDatabase());
  expect(all).toContain('event_tx');
  expect(await runnable(await createHardened())).toEqual(all);
});

/** As a version left it whose newest migration this was, with the rights that its application needed. */
async function createAsOf(newest: number): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const migrations = MIGRATIONS.filter(({ name }) => Number(name.slice(-13)) <= newest);
  const options = dataSourceOptions({ url: database.url, name: '', connections: 1 });
  await onServer(database.url, (owner) => owner.query('CREATE SCHEMA lastcall'));
  const dataSource = await new DataSource({ ...options, migrations }).initialize();
  await dataSource.runMigrations({ transaction: 'each' });
  const runner = dataSource.createQueryRunner();
  await createApplicationRole(runner);
  const all: readonly MigrationInterface[] = dataSource.migrations;
  await grantToApplication(runner, 'lastcall', all);
  await runner.release();
  await dataSource.destroy();
  return database;
}

it('may go on reading how far the history reaches where migrating has ended halfway', async () => {
  const database = await createAsOf(1763940000000);
  try {
    // What a later one wants to make is there: it fails, as one does that somebody keeps from its table.
    await onServer(database.url, (owner) => owner.query('CREATE TABLE lastcall.errands ()'));
    await expect(migrate({ DATABASE_URL: database.url })).rejects.toThrow('already exists');
    await onServer(database.url, async (owner) => {
      await owner.query('SET search_path = lastcall; SET ROLE lastcall_app');
      const { rows } = await owner.query('SELECT history_reaches() AS reaches');
      expect(rows).toEqual([{ reaches: '0' }]);
    });
  } finally {
    await database.drop();
  }
});
