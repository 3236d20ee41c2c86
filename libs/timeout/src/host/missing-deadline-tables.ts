import type { DataSource } from 'typeorm';
import { assertTable, checked } from '../database/checked-connections';

/** Our tables are not where this process looks for them: nobody has migrated yet, or another schema. */
export class MissingDeadlineTablesError extends Error {
  readonly code = 'missing_tables';

  constructor(schema: string) {
    super(
      `The schema "${schema}" has no tables of lastcall's deadlines, or this user of Postgres may not see them. ` +
        'Make them before anything starts, by migrateTimeouts({ postgres, schema }) in a step of the deployment, ' +
        'or leave out `migrate: false`. Or name the schema that has them (the option `schema`).',
    );
    this.name = 'MissingDeadlineTablesError';
  }
}

/**
 * The same connections, if they lead to our tables; else they are closed.
 * @throws {MissingDeadlineTablesError}
 */
export const withDeadlineTables = (dataSource: DataSource, schema: string): Promise<DataSource> =>
  checked(dataSource, () =>
    // The order module has tables of deadlines as well, and none of subjects.
    assertTable(dataSource, 'timeout_subjects', () => new MissingDeadlineTablesError(schema)),
  );
