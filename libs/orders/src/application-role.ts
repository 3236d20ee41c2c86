import { MIGRATIONS_TABLE, quoted } from '@app/timeout';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { type OwnObject, ownObjects } from './own-objects';

/** The role that users of the application are members of: docs/threat-model.md. */
export const APPLICATION_ROLE = 'lastcall_app';

/**
 * Makes the role, unless it is there: roles belong to the server, not to this database.
 * @throws an error of Postgres where the owner may make no roles: then an administrator makes it
 */
export async function createApplicationRole(runner: QueryRunner): Promise<void> {
  await runner.query(`
    DO $$ BEGIN
      -- An owner who may make none would be refused even where there is nothing to make.
      IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${APPLICATION_ROLE}') THEN RETURN; END IF;
      CREATE ROLE ${APPLICATION_ROLE} NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$`);
}

/** True where a migration of before gave it our tables: it keeps what it needs without being asked for. */
export async function isGrantedAlready(runner: QueryRunner): Promise<boolean> {
  const rows = (await runner.query(
    `SELECT 1 FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
      WHERE c.oid = to_regclass('orders') AND r.rolname = $1 LIMIT 1`,
    [APPLICATION_ROLE],
  )) as unknown[];
  return rows.length > 0;
}

/** Gives the role what our migrations leave it of our own tables, and no other; safe to repeat. */
export async function grantToApplication(
  runner: QueryRunner,
  schema: string,
  migrations: readonly MigrationInterface[],
): Promise<void> {
  const objects = await ownObjects(runner, migrations, APPLICATION_ROLE);
  const list: OwnObject = { kind: 'TABLE', name: MIGRATIONS_TABLE, privileges: ['SELECT'] };
  await runner.startTransaction();
  try {
    await runner.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${APPLICATION_ROLE}`);
    for (const { kind, name, privileges } of [...objects, list]) {
      const target = `${kind === 'FUNCTION' ? kind : 'TABLE'} ${quoted(schema)}.${name}`;
      await runner.query(`REVOKE ALL ON ${target} FROM ${APPLICATION_ROLE}`);
      if (privileges.length === 0) continue;
      await runner.query(`GRANT ${privileges.join(', ')} ON ${target} TO ${APPLICATION_ROLE}`);
    }
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  }
}
