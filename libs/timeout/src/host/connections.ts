import { Client, type ClientConfig } from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { letHear } from '../database/fenced-manager';
import {
  ANSWER_LIMIT_MS,
  CLAIMING,
  CONNECT_LIMIT_MS,
  PLANNED,
  poolOptions,
  type PoolWish,
  SESSION_LIMITS,
} from '../database/pool-options';
import { openSessions } from '../database/pooler';
import { complaintAboutSchema } from '../database/schema-name';
import {
  PEER_LIMITS,
  sessionAddress,
  startUpOptions,
  UNDERSTOOD,
} from '../database/session-settings';

/** TypeORM's data source of the host, of whichever version: where it leads to is used, and its entities. */
export interface HostDataSource {
  readonly options: { readonly type: string };
  readonly isInitialized?: boolean;
  /** Those of its entities: they hear what handlers do by `tx.manager`, too. */
  readonly subscribers?: readonly object[];
  query(sql: string): Promise<unknown>;
}

/** A pool of node-postgres: only where it leads to is used. */
export interface HostPool {
  readonly options: ClientConfig;
}

/** Where the host's Postgres is. Connections of our own are opened there: never through a pooler in transaction mode. */
export type HostPostgres =
  { readonly url: string } | { readonly dataSource: HostDataSource } | { readonly pool: HostPool };

/** Nobody stands still in a transaction for longer; the order module, whose handlers wait for nobody, has 3 s. */
const STANDSTILL_LIMIT_MS = 10_000;

interface PlaceWish extends PoolWish {
  readonly migrations?: DataSourceOptions['migrations'];
}

/** How our connections are opened beside the host's, and how its own find their tables. */
export interface Place {
  readonly schema: string;
  readonly hostPath: string;
  /** @throws {PoolerRefusalError} */
  open(wish: PlaceWish): Promise<DataSource>;
}

/**
 * @param standstillLimitMs so long a transaction may make no statement
 * @throws {TypeError} for a data source that is not of Postgres or not initialized, and a schema whose name is not for us
 */
export async function findPlace(
  postgres: HostPostgres,
  schema: string,
  { standstillLimitMs = STANDSTILL_LIMIT_MS }: { readonly standstillLimitMs?: number } = {},
): Promise<Place> {
  const complaint = complaintAboutSchema(schema);
  if (complaint) throw new TypeError(`\`schema\` ${complaint}, not "${schema}"`);
  const { said, ...base } = addressOf(postgres);
  const limits = { ...SESSION_LIMITS, idle_in_transaction_session_timeout: standstillLimitMs };
  const entities = 'dataSource' in postgres ? entitiesOf(postgres.dataSource) : {};
  return {
    schema,
    hostPath: await searchPathOf(postgres),
    open: async ({ migrations, ...wish }) => {
      const settings = {
        ...UNDERSTOOD,
        ...((wish.isLimited ?? true) ? limits : {}),
        search_path: schema,
        ...PLANNED,
        ...CLAIMING,
      };
      // How soon a lost line is noticed is the host's to say, who knows it; of all else ours win.
      const startUp = `${startUpOptions(PEER_LIMITS)} ${said} ${startUpOptions(settings)}`;
      const ofAll = poolOptions(wish, startUp);
      const options = {
        ...ofAll,
        ...base,
        // TypeORM keeps the table of migrations where it has the entities: ours is with our tables.
        ...(migrations ? { migrations, schema } : entities),
        ...{ synchronize: false, installExtensions: false, logging: false },
        extra: { ...base.extra, ...ofAll.extra },
      };
      const ours = await openSessions(new DataSource(options));
      if ('dataSource' in postgres) letHear(ours, postgres.dataSource);
      return ours;
    },
  };
}

interface Address {
  /** Start-up options of the host's own sessions (`-c name=value ...`). */
  readonly said: string;
  /** What node-postgres is told by its own names. */
  readonly extra?: object;
}

interface DataSourceAddress {
  readonly url?: string;
  readonly host?: string;
  readonly port?: number;
  readonly username?: string;
  readonly password?: ClientConfig['password'];
  readonly database?: string;
  readonly ssl?: ClientConfig['ssl'];
}

/** Where it leads to, and nothing else: how many connections the host has, and their limits, are its own. */
function addressOf(postgres: HostPostgres): Address {
  if ('url' in postgres) return addressAt(postgres.url);
  if ('dataSource' in postgres) {
    const { options } = postgres.dataSource;
    if (options.type !== 'postgres') {
      throw new TypeError(
        `postgres.dataSource is of type "${options.type}": it has to be postgres`,
      );
    }
    const { replication, extra, ...alone } = options as DataSourceAddress & {
      readonly replication?: { readonly master: DataSourceAddress };
      readonly extra?: ClientConfig;
    };
    const { url, host, port, username, password, database, ssl } = replication?.master ?? alone;
    return {
      ...withoutUndefined({ host, port, username, password, database, ssl }),
      ...clientAddress({ ...withoutUndefined({ connectionString: url }), ...extra }),
    };
  }
  return clientAddress(postgres.pool.options);
}

function clientAddress(given: ClientConfig): Address {
  const { connectionString, host, port, user, password, database, ssl, stream, options } = given;
  const extra = withoutUndefined({ host, port, user, password, database, ssl, stream });
  return { ...addressAt(connectionString, options), extra };
}

/** What TypeORM has to know to read and write the host's entities as the host does. */
const OF_ENTITIES = [
  ...['entities', 'schema', 'entityPrefix', 'namingStrategy', 'entitySkipConstructor', 'useUTC'],
  ...['relationLoadStrategy', 'isolateWhereStatements', 'invalidWhereValuesBehavior'],
  ...['uuidExtension', 'parseInt8'],
];

const entitiesOf = ({ options }: HostDataSource): object =>
  Object.fromEntries(Object.entries(options).filter(([name]) => OF_ENTITIES.includes(name)));

/** What an address says of sessions replaces what is said beside it, as in node-postgres. */
function addressAt(address: string | undefined, beside = ''): Address & { url?: string } {
  if (address === undefined) return { said: beside };
  const { url, options } = sessionAddress(address);
  return { url, said: options ?? beside };
}

const withoutUndefined = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** The pool keeps its password out of sight: a copy does not bring it along. */
const clientOf = ({ options }: HostPool): ClientConfig =>
  options.password === undefined ? options : { ...options, password: options.password };

const NOT_INITIALIZED =
  'TimeoutModule: `postgres.dataSource` is not initialized: `await dataSource.initialize()` before the application starts, ' +
  'or `forRootAsync({ inject: [DataSource], useFactory: (dataSource) => ({ postgres: { dataSource } }) })` beside TypeOrmModule';

/**
 * The search path of the host's own connections: its handlers look there.
 * @throws {TypeError} for a data source that is not initialized
 */
export async function searchPathOf(postgres: HostPostgres): Promise<string> {
  const sql = 'SHOW search_path';
  if ('dataSource' in postgres) {
    if (postgres.dataSource.isInitialized === false) throw new TypeError(NOT_INITIALIZED);
    const rows = (await postgres.dataSource.query(sql)) as { search_path: string }[];
    return rows[0]?.search_path ?? 'public';
  }
  const client = new Client({
    ...('url' in postgres ? { connectionString: postgres.url } : clientOf(postgres.pool)),
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: ANSWER_LIMIT_MS,
  });
  // A connection that breaks is told of by what waits for it; heard by nobody, it ends the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ search_path: string }>(sql);
    return rows[0]?.search_path ?? 'public';
  } finally {
    await client.end();
  }
}
