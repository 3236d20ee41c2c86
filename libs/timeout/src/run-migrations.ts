import { type DataSource, MigrationExecutor } from 'typeorm';
import { lifting } from './lift-limits';
import { type Patience, patiently } from './patiently';

/**
 * Runs what has not been run yet, each migration in one transaction, beside others who use the
 * tables; an index takes as long as it takes. Returns the names of those that were run now.
 * @throws {LockedTablesError}
 */
export async function runMigrations(
  dataSource: DataSource,
  patience: Patience = {},
): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query(lifting());
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    const pending = await executor.getPendingMigrations();
    await patiently(runner, () => executor.executePendingMigrations(), patience);
    return pending.map(({ name }) => name);
  } finally {
    await runner.release();
  }
}
