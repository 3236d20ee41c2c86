import { types } from 'node:util';
import { wordsOf } from '../causes';
import { isInfrastructureError, sqlStateOf } from '../database/database-errors';
import type { HostPostgres } from './connections';

const NO_RIGHT = '42501';
/** Of a login, and of a database that there is not. */
const NO_ENTRY = /^(28|3D)/;

/** The application's user of Postgres may not make our schema, or its tables. */
export class MayNotMigrateError extends Error {
  readonly code = 'may_not_migrate';

  constructor(schema: string, cause: unknown) {
    super(
      `TimeoutModule may not make its tables in the schema "${schema}" (${said(cause)}): call ` +
        'migrateTimeouts({ postgres, schema }) in a step of the deployment, as one who may, and give it `migrate: false` here.',
      { cause },
    );
    this.name = 'MayNotMigrateError';
  }
}

/** TimeoutModule does not get to Postgres by what its options say. */
export class NoPostgresError extends Error {
  readonly code = 'no_postgres';

  constructor(postgres: HostPostgres, cause: unknown) {
    const [option] = Object.keys(postgres);
    const isEmpty = 'pool' in postgres && leadsNowhere(postgres.pool.options);
    const why = isEmpty ? ', which was made with `connectionString: undefined`' : '';
    super(
      `TimeoutModule cannot connect to Postgres by its option \`postgres.${option}\`${why}: ${said(cause)}`,
      { cause },
    );
    this.name = 'NoPostgresError';
  }
}

/**
 * What is thrown as TimeoutModule opens its connections, by its options where those lead nowhere; all else as it is.
 * @param migrates whether it makes its tables itself
 */
export function refusedStart(
  error: unknown,
  given: { readonly postgres: HostPostgres; readonly schema: string; readonly migrates: boolean },
): unknown {
  const state = sqlStateOf(error);
  if (state === NO_RIGHT && given.migrates) return new MayNotMigrateError(given.schema, error);
  const isAway = state === undefined ? isInfrastructureError(error) : NO_ENTRY.test(state);
  return isAway ? new NoPostgresError(given.postgres, error) : error;
}

/** A variable of the environment that is not set: node-postgres goes to this machine then. */
const leadsNowhere = (options: object): boolean =>
  'connectionString' in options && options.connectionString === undefined && !('host' in options);

const said = (error: unknown): string =>
  types.isNativeError(error) ? wordsOf(error) : String(error);
