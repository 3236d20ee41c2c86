import type { DataSourceOptions } from 'typeorm';
import { NODE_POSTGRES } from './node-postgres';
import { OWN_TYPES } from './own-types';

/** What a session waits for at the most, in milliseconds. */
export const SESSION_LIMITS = {
  /** No statement of ours takes longer. */
  statement_timeout: 15_000,
  /** A request that waits for a row tries a few times, and still has to answer within seconds. */
  lock_timeout: 1_000,
} as const;

/** A database that neither answers nor hangs up is given up a little later than it would itself. */
export const ANSWER_LIMIT_MS = SESSION_LIMITS.statement_timeout + 1_000;
/** A connection is waited for so long; then the caller hears that the database is away. */
export const CONNECT_LIMIT_MS = 2_000;

/**
 * How soon we hear of a Postgres that is gone, or cut off, without a goodbye: behind ten seconds of silence it is asked,
 * ten times in as many seconds. Left to itself a machine asks after two hours: so long a migration would wait, which
 * may take as long as it takes, and whoever listens would hear nothing.
 */
const KEPT_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;

/** What each session of ours is meant to have, whatever the database's own default is. */
export const PLANNED = {
  /** What TimeoutService and the guard rely on. */
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
} as const;
/** A bitmap reads and sorts all that is due for each batch of it (docs/adr/0043). */
export const CLAIMING = { enable_bitmapscan: 'off' } as const;

/** Which migrations were run; TypeORM's usual name is the host's. */
export const MIGRATIONS_TABLE = 'lastcall_migrations';

export interface PoolWish {
  /** Shown in pg_stat_activity. */
  readonly name: string;
  readonly connections: number;
  /** False for migrations: an index takes as long as it takes. */
  readonly isLimited?: boolean;
}

type OfAllPools = Omit<Extract<DataSourceOptions, { readonly type: 'postgres' }>, 'extra'> & {
  readonly extra: object;
};

/** What all pools of ours have, wherever they lead; `options` are the start-up options of their sessions. */
export function poolOptions(
  { name, connections, isLimited = true }: PoolWish,
  options: string,
): OfAllPools {
  return {
    type: 'postgres',
    ...NODE_POSTGRES,
    migrationsTableName: MIGRATIONS_TABLE,
    migrationsTransactionMode: 'each',
    poolSize: connections,
    connectTimeoutMS: CONNECT_LIMIT_MS,
    applicationName: name,
    extra: {
      ...(isLimited ? { query_timeout: ANSWER_LIMIT_MS } : {}),
      // A statement that follows another need not wait for its answer, as with savepoints.
      pipeline: true,
      ...KEPT_ALIVE,
      types: OWN_TYPES,
      options,
    },
  };
}
