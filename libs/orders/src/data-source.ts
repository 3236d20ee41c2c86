import {
  NODE_POSTGRES,
  PEER_LIMITS,
  sessionAddress,
  startUpOptions,
  UNDERSTOOD,
} from '@app/timeout';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { Config } from './config';
import { CONNECTING } from './connect-limit';
import { MIGRATIONS } from './migrations';

/** Injection token of the data source of everything that customers wait for. */
export const DATABASE = Symbol('LastcallDatabase');
/**
 * Injection token of the data source of closing, and of what must go on when customers have taken
 * all connections.
 */
export const CLOSERS = Symbol('LastcallClosers');

/** Injection token of the data source of what nobody waits for: relay, seals, invariants, retention. */
export const BACKGROUND = Symbol('LastcallBackground');

/** Where our tables are: a schema of our own, beside whatever else the database holds. */
export const DEFAULT_SCHEMA = 'lastcall';
/** Where they were before they had one, and the neighbours' are. */
export const OLD_SCHEMA = 'public';
/** Which migrations were run; TypeORM's usual name is the host's. */
export const MIGRATIONS_TABLE = 'lastcall_migrations';

/** Which database, and where in it. */
export type DatabaseAddress = Pick<Config, 'DATABASE_URL'> &
  Partial<Pick<Config, 'DATABASE_SCHEMA'>>;

export interface PoolOptions {
  readonly url: string;
  /** Default: `lastcall`. */
  readonly schema?: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  readonly connections: number;
  /** False for migrations: an index takes as long as it takes. */
  readonly isLimited?: boolean;
  /** True where deadlines are claimed: in the order of an index, by however wrong an estimate. */
  readonly claims?: boolean;
}

/** No statement of ours takes longer. */
const STATEMENT_LIMIT_MS = 15_000;
/** A database that neither answers nor hangs up is given up a little later than it would itself. */
const ANSWER_LIMIT_MS = STATEMENT_LIMIT_MS + 1_000;
/** A request that waits for a row tries a few times, and still has to answer within seconds. */
const LOCK_LIMIT_MS = 1_000;
/**
 * A process that stands still in a transaction holds products and a drainer's turn: others wait so
 * long for it at most. No transaction of ours waits for anything but Postgres, and for Redis briefly.
 */
const IDLE_TRANSACTION_LIMIT_MS = 3_000;

/** What a session waits for at the most, in milliseconds. */
export const LIMITS = {
  statement_timeout: STATEMENT_LIMIT_MS,
  lock_timeout: LOCK_LIMIT_MS,
  idle_in_transaction_session_timeout: IDLE_TRANSACTION_LIMIT_MS,
};

/** What an address may say otherwise. */
const OURS = {
  /** What TimeoutService and the guard rely on, whatever the database's own default is. */
  default_transaction_isolation: 'read committed',
  /**
   * Nothing that a connection of ours runs often wants to read a whole table; and a plan that does,
   * made while the table was still empty, would be kept until somebody analyzes it.
   */
  enable_seqscan: 'off',
  /**
   * Before 18, what must be read as a whole all the same counts as very expensive by that: Postgres would
   * compile such a statement each time, though it is of one row.
   */
  jit: 'off',
};
/** What every session of ours has beside its limits and its path. */
export const SESSION = { ...OURS, ...UNDERSTOOD };

/** A bitmap reads and sorts all that is due for each batch of it (docs/adr/0043). */
const CLAIMING = { enable_bitmapscan: 'off' };

/**
 * Our tables are found by the path alone, so that a host's of the same name are never meant. Who is
 * told to stay in `public` finds them there still when they have been moved in the meantime.
 */
const searchPath = (schema: string): string =>
  schema === OLD_SCHEMA ? `${OLD_SCHEMA},${DEFAULT_SCHEMA}` : schema;

export function dataSourceOptions({
  url: address,
  name,
  connections,
  schema = DEFAULT_SCHEMA,
  isLimited = true,
  claims = false,
}: PoolOptions): DataSourceOptions {
  const { url, options: said = '' } = sessionAddress(address);
  const settings = {
    ...OURS,
    ...PEER_LIMITS,
    ...(claims ? CLAIMING : {}),
    ...(isLimited ? LIMITS : {}),
    search_path: searchPath(schema),
  };
  return {
    type: 'postgres',
    ...NODE_POSTGRES,
    url,
    migrations: MIGRATIONS,
    migrationsTableName: MIGRATIONS_TABLE,
    migrationsTransactionMode: 'each',
    poolSize: connections,
    connectTimeoutMS: CONNECTING.limitMs,
    applicationName: name,
    extra: {
      ...(isLimited ? { query_timeout: ANSWER_LIMIT_MS } : {}),
      // A statement that follows another need not wait for its answer, as with savepoints.
      pipeline: true,
      keepAlive: true,
      // What the address says itself (`?options=-c ...`) wins, but for how we understand each other.
      options: `${startUpOptions(settings)} ${said} ${startUpOptions(UNDERSTOOD)}`,
    },
  };
}

/** Connections of their own, for work beside the application: migrations, seeding, benchmarks. */
export function createDataSource(
  { DATABASE_URL: url, DATABASE_SCHEMA: schema = DEFAULT_SCHEMA }: DatabaseAddress,
  name: string,
  connections = 2,
): DataSource {
  return new DataSource(dataSourceOptions({ url, schema, name, connections }));
}
