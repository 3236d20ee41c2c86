import { assertTable, checked, sqlStateOf } from '@app/timeout';
import type { DataSource } from 'typeorm';

const UNDEFINED_TABLE_OR_COLUMN = /^42(P01|703)$/;

/** True where the database lacks a table or a column that this version asks for. */
export const isOfOtherVersion = (error: unknown): boolean =>
  UNDEFINED_TABLE_OR_COLUMN.test(sqlStateOf(error) ?? '');

/** Our tables are not where this process looks for them: nobody has migrated yet, or another schema. */
export class MissingTablesError extends Error {
  readonly code = 'missing_tables';

  constructor(schema: string) {
    super(
      `The schema "${schema}" has no tables of lastcall's orders, or this user of Postgres may not see them. ` +
        'Make them before anything starts: migrate(hostOptionsAsConfig(options)) in a host, ' +
        'node dist/apps/api/src/migrate.js for the ready-made server. ' +
        'Or name the schema that has them (DATABASE_SCHEMA, or the option "schema").',
    );
    this.name = 'MissingTablesError';
  }
}

/**
 * The same connections, if they lead to our tables; else they are closed.
 * @throws {MissingTablesError}
 */
export const withTables = (dataSource: DataSource, schema: string): Promise<DataSource> =>
  checked(dataSource, () =>
    assertTable(dataSource, 'order_events', () => new MissingTablesError(schema)),
  );
