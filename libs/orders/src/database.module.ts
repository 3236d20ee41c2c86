import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CLOSERS, DATABASE, dataSourceOptions, type PoolOptions } from './data-source';

/**
 * The order module's own connections, by tokens that nobody else has: the host's `DataSource`, and
 * what its `TypeOrmModule` makes of it, are neither seen nor replaced.
 */
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(CLOSERS) private readonly closers: DataSource,
  ) {}

  static forRoot(pools: {
    readonly api: PoolOptions;
    readonly closers: PoolOptions;
  }): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [pool(DATABASE, pools.api), pool(CLOSERS, pools.closers)],
      exports: [DATABASE, CLOSERS],
    };
  }

  /** After everything that uses them has stopped, which it does before the shutdown. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.database.destroy(), this.closers.destroy()]);
  }
}

function pool(provide: symbol, options: PoolOptions): Provider {
  return { provide, useFactory: () => new DataSource(dataSourceOptions(options)).initialize() };
}
