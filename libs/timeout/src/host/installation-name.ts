import type { DataSource } from 'typeorm';
import { isInfrastructureError, sqlStateOf } from '../database/database-errors';
import { queryRows } from '../database/query-rows';

/**
 * What names in a store outside Postgres begin with. A schema is not enough: it is `lastcall` in most
 * databases, and several of them may have one Redis. The same in all processes of an installation; another
 * one after its database has moved to another cluster, where the next sweep arms everything anew.
 */
export async function installationName(dataSource: DataSource, schema: string): Promise<string> {
  const id = await databaseId(dataSource);
  // Where nobody may know it, the schema has to do.
  return id === undefined ? schema : `${schema}:${id}`;
}

/**
 * Which database of which cluster it is, in 12 hexadecimal digits: another one for what a dump is restored
 * to. Undefined where Postgres does not tell: an administrator may have taken the function from everybody, and
 * a service that is like Postgres may not have it.
 */
export async function databaseId(dataSource: DataSource): Promise<string | undefined> {
  try {
    const [row] = await queryRows<{ id: string }>(
      dataSource,
      `SELECT left(md5(c.system_identifier || ' ' || d.oid), 12) AS id
         FROM pg_control_system() AS c, pg_database AS d WHERE d.datname = current_database()`,
    );
    return row?.id;
  } catch (error) {
    if (sqlStateOf(error) === undefined || isInfrastructureError(error)) throw error;
    return undefined;
  }
}
