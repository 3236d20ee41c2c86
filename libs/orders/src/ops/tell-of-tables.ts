import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { otherMigrations } from './other-migrations';

/** Tells a host in its log, at the start of each process, that the tables are of another version. */
@Injectable()
export class TellOfTables implements OnApplicationBootstrap {
  readonly #logger = new Logger('Orders');

  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  async onApplicationBootstrap(): Promise<void> {
    try {
      const { missing, unknown } = await otherMigrations(this.dataSource);
      if (missing.length > 0) {
        const mend = 'run migrate(hostOptionsAsConfig(options)) in a step of the deployment';
        this.#logger.error(`The tables are of an older version (${missing.join(', ')}): ${mend}`);
      }
      if (unknown.length > 0) {
        this.#logger.warn(`The tables are of a newer version (${unknown.join(', ')})`);
      }
    } catch (error) {
      this.#logger.warn(`Of which version the tables are is not known: ${String(error)}`);
    }
  }
}
