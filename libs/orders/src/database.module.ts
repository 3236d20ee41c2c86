import {
  checked,
  closePool,
  drainConnections,
  limitWaitsForTables,
  onceBack,
  onceFree,
  openSessions,
  queryRows,
  withOwnSessions,
} from '@app/timeout';
import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { API_CONNECTIONS_NAME } from './api-wait';
import type { Config } from './config';
import { BACKGROUND, CLOSERS, DATABASE, dataSourceOptions, type PoolOptions } from './data-source';
import { DEADLINE_KINDS } from './order/deadline-table';
import { assertNoneOfHosts } from './kinds-of-hosts';
import { withTables } from './missing-tables';
import { IS_VISITOR, type OrdersSetUp, SET_UP } from './set-up';

const API_CONNECTIONS = 16;
/** Enough to notice at once that a table is free again; the others are for those who do not need it. */
const WAITS_FOR_LOCKED_TABLES = 4;
/** Few of it takes long at the same time. */
const BACKGROUND_CONNECTIONS = 4;

/**
 * The order module's own connections, by tokens that nobody else has: the host's `DataSource`, and
 * what its `TypeOrmModule` makes of it, are neither seen nor replaced.
 */
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(CLOSERS) private readonly closers: DataSource,
    @Inject(BACKGROUND) private readonly background: DataSource,
  ) {}

  /** `hasBackground`: by connections of its own, which drains do not take for customers. */
  static forRoot(setUp: DynamicModule, hasBackground: boolean): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [setUp],
      providers: [
        ...[pool(DATABASE, apiPool, WAITS_FOR_LOCKED_TABLES), pool(CLOSERS, closersPool)],
        hasBackground
          ? pool(BACKGROUND, backgroundPool)
          : { provide: BACKGROUND, useExisting: DATABASE },
      ],
      exports: [DATABASE, CLOSERS, BACKGROUND],
    };
  }

  /** After everything that uses them has stopped, which it does before the shutdown. */
  async onApplicationShutdown(): Promise<void> {
    const pools = new Set([this.database, this.closers, this.background]);
    await Promise.all(Array.from(pools, closePool));
  }
}

const apiPool = ({ DATABASE_URL: url, DATABASE_SCHEMA: schema }: Config): PoolOptions => {
  return { url, schema, name: API_CONNECTIONS_NAME, connections: API_CONNECTIONS };
};

const backgroundPool = ({ DATABASE_URL: url, DATABASE_SCHEMA: schema }: Config): PoolOptions => {
  return { url, schema, name: 'lastcall background', connections: BACKGROUND_CONNECTIONS };
};

const closersPool = ({ DATABASE_URL: url, DATABASE_SCHEMA: schema, DRAINERS }: Config) => {
  const connections = drainConnections(DEADLINE_KINDS.length, DRAINERS);
  return { url, schema, name: 'lastcall closers', connections, claims: true };
};

function pool(
  provide: symbol,
  optionsOf: (config: Config) => PoolOptions,
  waitsForTables?: number,
): Provider {
  const isFirst = provide === DATABASE;
  return {
    provide,
    // The others come behind the first: of a Postgres that has been there it is known that it comes back.
    inject: [SET_UP, IS_VISITOR, ...(isFirst ? [] : [DATABASE])],
    useFactory: async ({ config }: OrdersSetUp, isVisitor: boolean) => {
      const open = async (reached?: () => void): Promise<DataSource> => {
        const dataSource = new DataSource(dataSourceOptions(optionsOf(config)));
        if (waitsForTables !== undefined) limitWaitsForTables(dataSource, waitsForTables);
        return withTables(
          await withOwnSessions(await openSessions(dataSource, reached)),
          config.DATABASE_SCHEMA,
        );
      };
      // Who types a command hears at once that Postgres is away.
      if (isVisitor) return open();
      const opened = await onceBack(open, { wasThere: !isFirst });
      return isFirst ? checked(opened, (one) => withoutHosts(one, config.DATABASE_SCHEMA)) : opened;
    },
  };
}

/** @throws {ConfigError} */
const withoutHosts = (dataSource: DataSource, schema: string): Promise<void> =>
  onceFree(dataSource, () =>
    assertNoneOfHosts(schema, (sql, params) => queryRows(dataSource, sql, params)),
  );
