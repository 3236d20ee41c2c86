import type { DataSource } from 'typeorm';
import { sqlStateOf } from '../database-errors';
import { queryRows } from '../transaction';

const MAY_NOT = '42501';

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
 * to. Undefined where an administrator has taken the function that tells it from everybody.
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
    if (sqlStateOf(error) !== MAY_NOT) throw error;
    return undefined;
  }
}
