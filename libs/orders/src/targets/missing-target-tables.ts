import { onceBack } from '@app/timeout';
import type { TimeoutRuntime } from '@app/timeout/module';
import { targetTables } from './target-look';

/** The tables of close targets are not there, or lack what this version has in them. */
class MissingTargetTablesError extends Error {
  readonly code = 'missing_tables';

  constructor(schema: string, tables: 'none' | 'older') {
    const what = {
      none: "has no tables of lastcall's close targets, or this user of Postgres may not see them.",
      older: "has tables of lastcall's close targets that are of an older version.",
    };
    super(
      `The schema "${schema}" ${what[tables]} Bring them up to date before anything starts, by ` +
        'migrateCloseTargets({ postgres, schema }) in a step of the deployment, or leave out `migrate: false` of TimeoutModule.',
    );
    this.name = 'MissingTargetTablesError';
  }
}

/** @throws {MissingTargetTablesError} */
export async function assertTargetTables(runtime: TimeoutRuntime): Promise<void> {
  const look = () => targetTables((sql, params) => runtime.rows(sql, params), runtime.schema);
  const tables = await onceBack(look, { wasThere: true });
  if (tables !== 'whole') throw new MissingTargetTablesError(runtime.schema, tables);
}
