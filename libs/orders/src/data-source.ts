import {
  CLAIMING,
  PEER_LIMITS,
  PLANNED,
  poolOptions,
  type PoolWish,
  SESSION_LIMITS,
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
/** Which database, and where in it. */
export type DatabaseAddress = Pick<Config, 'DATABASE_URL'> &
  Partial<Pick<Config, 'DATABASE_SCHEMA'>>;

export interface PoolOptions extends PoolWish {
  readonly url: string;
  /** Default: `lastcall`. */
  readonly schema?: string;
  /** True where deadlines are claimed: in the order of an index, by however wrong an estimate. */
  readonly claims?: boolean;
}

/**
 * A process that stands still in a transaction holds products and a drainer's turn: others wait so
 * long for it at most. No transaction of ours waits for anything but Postgres, and for Redis briefly.
 */
const IDLE_TRANSACTION_LIMIT_MS = 3_000;

/** What a session waits for at the most, in milliseconds. */
export const LIMITS = {
  ...SESSION_LIMITS,
  idle_in_transaction_session_timeout: IDLE_TRANSACTION_LIMIT_MS,
};

/** What every session of ours has beside its limits and its path. */
export const SESSION = { ...PLANNED, ...UNDERSTOOD };

/**
 * Our tables are found by the path alone, so that a host's of the same name are never meant. Who is
 * told to stay in `public` finds them there still when they have been moved in the meantime.
 */
const searchPath = (schema: string): string =>
  schema === OLD_SCHEMA ? `${OLD_SCHEMA},${DEFAULT_SCHEMA}` : schema;

export function dataSourceOptions({
  url: address,
  schema = DEFAULT_SCHEMA,
  claims = false,
  ...wish
}: PoolOptions): DataSourceOptions {
  const { url, options: said = '' } = sessionAddress(address);
  const settings = {
    ...PLANNED,
    ...PEER_LIMITS,
    ...(claims ? CLAIMING : {}),
    ...((wish.isLimited ?? true) ? LIMITS : {}),
    search_path: searchPath(schema),
  };
  // What the address says itself (`?options=-c ...`) wins, but for how we understand each other.
  const options = `${startUpOptions(settings)} ${said} ${startUpOptions(UNDERSTOOD)}`;
  return {
    ...poolOptions(wish, options),
    url,
    migrations: MIGRATIONS,
    connectTimeoutMS: CONNECTING.limitMs,
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
