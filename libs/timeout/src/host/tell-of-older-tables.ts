import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { readMigrations } from '../database/read-migrations';
import { migrationsOfDeadlines } from './migrate-timeouts';

/**
 * Where the step of the deployment that makes the tables was left out, whoever reads the log of the process learns so
 * from its first lines.
 */
export async function tellOfOlderTables(dataSource: DataSource, schema: string): Promise<void> {
  const logger = new Logger('Timeouts');
  try {
    const done = await readMigrations(dataSource);
    const missing = migrationsOfDeadlines().flatMap(({ name }) => (done.has(name) ? [] : [name]));
    if (missing.length === 0) return;
    logger.error(
      `What is in the schema "${schema}" is of an older version: ${missing.join(', ')} did not run. ` +
        'Run migrateTimeouts({ postgres, schema }) in a step of the deployment, or leave out `migrate: false`.',
    );
  } catch (error) {
    logger.warn(`Of which version the tables of deadlines are is not known: ${String(error)}`);
  }
}
