import { Client, type ClientConfig } from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';

/** TypeORM's data source of the host, of whichever version: only where it leads to is used. */
export interface HostDataSource {
  readonly options: { readonly type: string };
  query(sql: string): Promise<unknown>;
}

/** A pool of node-postgres: only where it leads to is used. */
export interface HostPool {
  readonly options: ClientConfig;
}

/** Where the host's Postgres is. Connections of our own are opened there: never through a pooler in transaction mode. */
export type HostPostgres =
  { readonly url: string } | { readonly dataSource: HostDataSource } | { readonly pool: HostPool };

/** No statement of ours takes longer; a lock is waited for so long; nobody stands still in a transaction. */
const LIMITS = {
  statement_timeout: 15_000,
  query_timeout: 16_000,
  lock_timeout: 1_000,
  idle_in_transaction_session_timeout: 10_000,
};
const CONNECT_LIMIT_MS = 2_000;

interface PoolWish {
  readonly name: string;
  readonly connections: number;
  readonly migrations?: DataSourceOptions['migrations'];
  readonly isLimited?: boolean;
}

/** How our connections are opened beside the host's, and how its own find their tables. */
export interface Place {
  readonly schema: string;
  readonly hostPath: string;
  open(wish: PoolWish): Promise<DataSource>;
}

/** @throws {TypeError} for a data source that is not of Postgres, and a schema that is no plain name */
export async function findPlace(postgres: HostPostgres, schema: string): Promise<Place> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new TypeError(`schema must be a name of small letters, digits and _, not "${schema}"`);
  }
  const base = addressOf(postgres);
  return {
    schema,
    hostPath: await searchPathOf(postgres),
    open: ({ name, connections, migrations = [], isLimited = true }) => {
      const extra = (base as { extra?: object }).extra;
      const options = {
        ...base,
        ...{ synchronize: false, dropSchema: false, migrationsRun: false, subscribers: [] },
        ...{ migrations, migrationsTableName: 'lastcall_migrations', logging: false },
        migrationsTransactionMode: 'each',
        poolSize: connections,
        connectTimeoutMS: CONNECT_LIMIT_MS,
        applicationName: name,
        extra: {
          ...extra,
          ...(isLimited ? LIMITS : {}),
          pipeline: true,
          options:
            // A bitmap would read and sort all that is due for each batch of it.
            `-c search_path=${schema} -c enable_seqscan=off -c enable_bitmapscan=off ` +
            '-c default_transaction_isolation=read\\ committed',
        },
      };
      return new DataSource(options as unknown as DataSourceOptions).initialize();
    },
  };
}

function addressOf(postgres: HostPostgres): object {
  if ('url' in postgres) return { type: 'postgres', url: postgres.url };
  if ('dataSource' in postgres) {
    const { options } = postgres.dataSource;
    if (options.type === 'postgres') return options;
    throw new TypeError(`postgres.dataSource is of type "${options.type}": it has to be postgres`);
  }
  const { connectionString, host, port, user, password, database, ssl } = postgres.pool.options;
  const address = { url: connectionString, host, port, username: user, password, database, ssl };
  return { type: 'postgres', ...withoutUndefined(address) };
}

const withoutUndefined = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** The search path of the host's own connections: its handlers look there. */
export async function searchPathOf(postgres: HostPostgres): Promise<string> {
  const sql = 'SHOW search_path';
  if ('dataSource' in postgres) {
    const rows = (await postgres.dataSource.query(sql)) as { search_path: string }[];
    return rows[0]?.search_path ?? 'public';
  }
  const client = new Client('url' in postgres ? postgres.url : { ...postgres.pool.options });
  await client.connect();
  try {
    const { rows } = await client.query<{ search_path: string }>(sql);
    return rows[0]?.search_path ?? 'public';
  } finally {
    await client.end();
  }
}
