import { inMigrationTurn, makeSchema, onceBack, openSessions, runMigrations } from '@app/timeout';
import { DataSource } from 'typeorm';
import {
  APPLICATION_ROLE,
  createApplicationRole,
  grantToApplication,
  isGrantedAlready,
} from './application-role';
import type { Config } from './config';
import { type DatabaseAddress, dataSourceOptions, DEFAULT_SCHEMA } from './data-source';
import { assertNoneOfHosts } from './kinds-of-hosts';
import { moveToSchema } from './move-to-schema';
import { expectMayMakeSchemas } from './own-objects';

export type MigrationTarget = DatabaseAddress & Partial<Pick<Config, 'DATABASE_ROLE'>>;

/**
 * Brings our tables up to date, in the schema of their own, and touches nothing else of the
 * database. Each migration is one transaction; safe to repeat, and to run twice at the same time. Waits for
 * Postgres where that ends its session.
 * @returns the names of the migrations that were run now
 * @throws {ConfigError} before any migration, also where the application's role is given its rights and this user may
 *   make no schema, as that takes, and while a host's deadlines wait in this schema by the name of ours
 * @throws {PoolerRefusalError}
 * @throws {TransactionPoolingError}
 * @throws {LockedTablesError}
 * @throws {MigrationUnderWayError}
 */
export function migrate(target: MigrationTarget): Promise<string[]> {
  const begun = new Set<string>();
  return onceBack(() => migrateAll(target, begun));
}

async function migrateAll(
  {
    DATABASE_URL: url,
    DATABASE_SCHEMA: schema = DEFAULT_SCHEMA,
    DATABASE_ROLE: role = 'off',
  }: MigrationTarget,
  begun: Set<string>,
): Promise<string[]> {
  const name = 'lastcall migrate';
  const dataSource = new DataSource(
    dataSourceOptions({ url, schema, name, connections: 2, isLimited: false }),
  );
  return inMigrationTurn(await openSessions(dataSource), async (turn) => {
    const grants = async () => role === APPLICATION_ROLE || (await isGrantedAlready(turn));
    if (await grants()) await expectMayMakeSchemas(turn);
    await makeSchema(turn, schema);
    await moveToSchema(turn, schema, dataSource.migrations);
    await assertNoneOfHosts(
      schema,
      (sql, params) => turn.query(sql, [...params]) as Promise<unknown[]>,
    );
    if (role === APPLICATION_ROLE) await createApplicationRole(turn);
    const done = await runMigrations(dataSource, {}, begun);
    if (await grants()) {
      await grantToApplication(turn, schema, dataSource.migrations);
    }
    return done;
  });
}
