import { quoted } from '@app/timeout';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ConfigError } from './config';

/** A table, view or function that our migrations make, and what the application's role may do with it. */
export interface OwnObject {
  readonly kind: 'TABLE' | 'VIEW' | 'FUNCTION';
  /** Quoted; a function's with its arguments. */
  readonly name: string;
  readonly privileges: readonly string[];
}

const SCRATCH = 'lastcall_scratch';

/**
 * To be asked before anything is changed that {@link ownObjects} has to follow.
 * @throws {ConfigError} where this user may make no schema in the database, not even one that is gone at once
 */
export async function expectMayMakeSchemas(runner: QueryRunner): Promise<void> {
  const [lacks] = (await runner.query(LACKS_CREATE)) as { grant: string }[];
  if (!lacks) return;
  throw new ConfigError(
    'Whoever migrates makes a schema for a moment, to find out which tables are ours and what the application may ' +
      `do with them, and this user may make none: ${lacks.grant}, as an administrator`,
  );
}

const LACKS_CREATE = `
  SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user) AS grant
   WHERE NOT has_database_privilege(current_database(), 'CREATE')`;

/**
 * What these migrations make, found out by running them in a schema that is gone afterwards: no list
 * has to be kept beside them, and nothing of the neighbours' is ever on it. To `role`, if there is one,
 * every table is given first: what is left is what the migrations leave it. A function that they leave to
 * everybody is its own, too: a database may give everybody none.
 * @throws {ConfigError} as {@link expectMayMakeSchemas}
 */
export async function ownObjects(
  runner: QueryRunner,
  migrations: readonly MigrationInterface[],
  role: string | null,
): Promise<OwnObject[]> {
  await expectMayMakeSchemas(runner);
  await runner.startTransaction();
  try {
    await runner.query(`CREATE SCHEMA ${SCRATCH}`);
    await runner.query(`SET LOCAL search_path = ${SCRATCH}`);
    if (role !== null) {
      await runner.query(
        `ALTER DEFAULT PRIVILEGES IN SCHEMA ${SCRATCH}
           GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${quoted(role)}`,
      );
      // As it is unless an owner has taken that from everybody.
      await runner.query(
        `ALTER DEFAULT PRIVILEGES IN SCHEMA ${SCRATCH} GRANT EXECUTE ON FUNCTIONS TO PUBLIC`,
      );
    }
    for (const migration of oldestFirst(migrations)) await migration.up(runner);
    return (await runner.query(OBJECTS, [SCRATCH, role])) as OwnObject[];
  } finally {
    await runner.rollbackTransaction();
  }
}

/** By the instant that a migration's name ends in, as TypeORM runs them. */
function oldestFirst(migrations: readonly MigrationInterface[]): MigrationInterface[] {
  const writtenAt = (one: MigrationInterface) =>
    Number((one.name ?? one.constructor.name).slice(-13));
  return [...migrations].sort((a, b) => writtenAt(a) - writtenAt(b));
}

/** Partitions and what they are part of both count; a column's own sequence goes where its table goes. */
const OBJECTS = `
  SELECT CASE WHEN relkind IN ('r', 'p') THEN 'TABLE' ELSE 'VIEW' END AS kind, quote_ident(relname) AS name,
         ARRAY(SELECT a.privilege_type FROM aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
                WHERE r.rolname = $2 ORDER BY 1) AS privileges
    FROM pg_class c WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p', 'v')
  UNION ALL
  SELECT 'FUNCTION', quote_ident(proname) || '(' || pg_get_function_identity_arguments(p.oid) || ')',
         ARRAY(SELECT DISTINCT a.privilege_type
                 FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                 LEFT JOIN pg_roles r ON r.oid = a.grantee
                WHERE a.grantee = 0 OR r.rolname = $2 ORDER BY 1)
    FROM pg_proc p WHERE pronamespace = $1::regnamespace`;
