import { MIGRATIONS_TABLE, patiently, quoted } from '@app/timeout';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { APPLICATION_ROLE } from './application-role';
import { ConfigError } from './config';
import { DEFAULT_SCHEMA, OLD_SCHEMA } from './data-source';
import { ownObjects } from './own-objects';

/** The list that TypeORM keeps unless it is told another name: perhaps the host's, too. */
const OLD_TABLE = 'migrations';
/** Of every installation that has ever been. */
const FIRST_OF_OURS = 'Orders1763600001000';

/**
 * Brings an installation of before, with its tables in `public`, to `schema` where that is the default one, and its
 * list of migrations to a table of its own; all of it or nothing. Other tables of `public` stay as they are. A
 * schema of another name is another shop's, perhaps beside one that lives in `public`: nothing goes there.
 * @throws {ConfigError} when the tables have been moved out of `schema` before
 */
export async function moveToSchema(
  runner: QueryRunner,
  schema: string,
  migrations: readonly MigrationInterface[],
): Promise<void> {
  if (schema !== DEFAULT_SCHEMA && schema !== OLD_SCHEMA) return;
  if (await lists(runner, schema, MIGRATIONS_TABLE)) return;
  if (schema === OLD_SCHEMA && (await lists(runner, DEFAULT_SCHEMA, MIGRATIONS_TABLE))) {
    throw new ConfigError(
      `The tables are in schema "${DEFAULT_SCHEMA}" already: take DATABASE_SCHEMA=${schema} away`,
    );
  }
  for (const table of [MIGRATIONS_TABLE, OLD_TABLE]) {
    if (!(await lists(runner, OLD_SCHEMA, table))) continue;
    const done = await namesIn(runner, `${OLD_SCHEMA}.${table}`);
    const made = migrations.filter((one) => done.has(one.name ?? one.constructor.name));
    return inOneGo(runner, () => move(runner, schema, table, made));
  }
}

/** A table of this name may be another tool's, with other columns, or not for us to read. */
const READABLE_LIST = `
  SELECT 1 FROM pg_attribute
   WHERE attrelid = to_regclass($1) AND attname = 'name' AND NOT attisdropped
     AND has_column_privilege(attrelid, attnum, 'SELECT')`;

async function lists(runner: QueryRunner, schema: string, table: string): Promise<boolean> {
  const place = `${quoted(schema)}.${table}`;
  const readable = (await runner.query(READABLE_LIST, [place])) as unknown[];
  return readable.length > 0 && (await namesIn(runner, place)).has(FIRST_OF_OURS);
}

async function namesIn(runner: QueryRunner, place: string): Promise<Set<string>> {
  const rows = (await runner.query(`SELECT name FROM ${place}`)) as { name: string }[];
  return new Set(rows.map(({ name }) => name));
}

async function move(
  runner: QueryRunner,
  schema: string,
  listedIn: string,
  made: readonly MigrationInterface[],
): Promise<() => Promise<void>> {
  const objects = schema === OLD_SCHEMA ? [] : await ownObjects(runner, made, null);
  const to = quoted(schema);
  const names = made.map((one) => one.name ?? one.constructor.name);
  return async () => {
    for (const { kind, name } of objects) {
      await runner.query(`ALTER ${kind} ${OLD_SCHEMA}.${name} SET SCHEMA ${to}`);
      if (kind !== 'FUNCTION') continue;
      await runner.query(`ALTER FUNCTION ${to}.${name} SET search_path = ${to}, pg_temp`);
    }
    await runner.query(
      `CREATE TABLE ${to}.${MIGRATIONS_TABLE}
         (id serial PRIMARY KEY, "timestamp" bigint NOT NULL, name varchar NOT NULL)`,
    );
    await runner.query(
      `WITH ours AS (DELETE FROM ${OLD_SCHEMA}.${listedIn} WHERE name = ANY ($1) RETURNING *)
       INSERT INTO ${to}.${MIGRATIONS_TABLE} ("timestamp", name)
       SELECT "timestamp", name FROM ours ORDER BY id`,
      [names],
    );
    if ((await namesIn(runner, `${OLD_SCHEMA}.${listedIn}`)).size === 0) {
      await runner.query(`DROP TABLE ${OLD_SCHEMA}.${listedIn}`);
    }
    if (objects.length === 0) return;
    const relations = objects.filter(({ kind }) => kind !== 'FUNCTION');
    await letIn(
      runner,
      to,
      relations.map(({ name }) => name),
    );
    await takeBack(runner);
  };
}

/** Rights to a table are of no use in a schema that is closed: processes that run would not find it until the end. */
async function letIn(runner: QueryRunner, to: string, names: readonly string[]): Promise<void> {
  const moved = names.map((name) => `${to}.${name}`);
  const grants = (await runner.query(LETTING_IN, [to, moved])) as { sql: string }[];
  for (const { sql } of grants) await runner.query(sql);
}

/** Its own owner a schema is open to; a table's may be another one, where an administrator migrates. */
const LETTING_IN = `
  WITH moved AS (
    SELECT oid, coalesce(relacl, acldefault('r', relowner)) AS acl FROM pg_class
     WHERE oid = ANY (ARRAY(SELECT to_regclass(name) FROM unnest($2::text[]) AS name))
  ), given AS (
    SELECT acl FROM moved
     UNION ALL SELECT attacl FROM moved JOIN pg_attribute ON attrelid = oid AND NOT attisdropped
  )
  SELECT DISTINCT format('GRANT USAGE ON SCHEMA %s TO %s', $1::text, coalesce(quote_ident(r.rolname), 'PUBLIC')) AS sql
    FROM given, aclexplode(acl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
   WHERE a.grantee <> (SELECT nspowner FROM pg_namespace WHERE oid = to_regnamespace($1))
     AND (a.grantee = 0 OR r.oid IS NOT NULL)`;

/**
 * The role migration of before gave the application's role all tables of the schema, whoever's they were, and all to
 * come. What of that is left is taken back where it may be: of tables of this user's. Where that migration has not
 * been, and of what has other rights than it gave, somebody has given them on purpose.
 */
async function takeBack(runner: QueryRunner): Promise<void> {
  await runner.query(`
    DO $$
    DECLARE
      giver regrole;
      given regclass;
    BEGIN
      FOR giver IN
        SELECT d.defaclrole FROM pg_default_acl d, aclexplode(d.defaclacl) a
          JOIN pg_roles r ON r.oid = a.grantee AND r.rolname = '${APPLICATION_ROLE}'
         WHERE d.defaclnamespace = '${OLD_SCHEMA}'::regnamespace AND d.defaclobjtype = 'r'
           AND pg_has_role(d.defaclrole, 'USAGE')
         GROUP BY 1
      LOOP
        EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %s IN SCHEMA ${OLD_SCHEMA}
                          REVOKE ALL ON TABLES FROM ${APPLICATION_ROLE}', giver);
      END LOOP;
      IF NOT FOUND THEN RETURN; END IF;
      FOR given IN
        SELECT c.oid FROM pg_class c, aclexplode(c.relacl) a
          JOIN pg_roles r ON r.oid = a.grantee AND r.rolname = '${APPLICATION_ROLE}'
         WHERE c.relnamespace = '${OLD_SCHEMA}'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
           AND pg_has_role(c.relowner, 'USAGE')
         GROUP BY 1 HAVING array_agg(DISTINCT a.privilege_type) @> '{SELECT,INSERT,UPDATE,DELETE}'
      LOOP
        EXECUTE format('REVOKE SELECT, INSERT, UPDATE, DELETE ON %s FROM ${APPLICATION_ROLE}', given);
      END LOOP;
    END $$`);
}

async function inOneGo(
  runner: QueryRunner,
  prepare: () => Promise<() => Promise<void>>,
): Promise<void> {
  const run = await prepare();
  const inTransaction = async (): Promise<void> => {
    await runner.startTransaction();
    try {
      await run();
      await runner.commitTransaction();
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    }
  };
  await patiently(runner, inTransaction, { schema: OLD_SCHEMA });
}
