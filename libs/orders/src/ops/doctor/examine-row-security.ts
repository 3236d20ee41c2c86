import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, expectation } from './check';

const HAVE_IT = `
  SELECT current_user AS name, string_agg(relname, ', ' ORDER BY relname) AS tables FROM pg_class
   WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
     AND row_security_active(oid)`;

/**
 * Whether Postgres leaves out rows of ours for who connects, in silence: what is not seen is not closed. Sessions of ours
 * cannot ask for an error instead (`row_security`): they make the statements of hosts as well, on tables of theirs.
 */
export async function examineRowSecurity(dataSource: DataSource): Promise<Check> {
  const [row] = await queryRows<{ name: string; tables: string | null }>(dataSource, HAVE_IT);
  const { name = '', tables } = row ?? {};
  return expectation(
    'postgres',
    'row security',
    !tables,
    tables ? `hides rows from ${name}: ${tables}` : `hides nothing from ${name}`,
    'ALTER TABLE ... DISABLE ROW LEVEL SECURITY for each of them, or ALTER ROLE ... BYPASSRLS; rows that are hidden count as ' +
      'not there: orders do not close, payments are unknown, and all else that is said here may be wrong',
  );
}
