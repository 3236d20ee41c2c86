import {
  AbstractLogger,
  type DataSource,
  type LogLevel,
  type LogMessage,
  MigrationExecutor,
} from 'typeorm';
import { LockedTablesError } from '../errors';
import { lifting } from './lift-limits';
import { type Patience, patiently } from './patiently';
import { warn } from '../warn';

/**
 * Runs what has not been run yet, each migration in one transaction, beside others who use the
 * tables; an index takes as long as it takes. The data source is for this alone.
 * @param begun what attempts before this one have begun to run, of which some may be done: it gets the names of all
 * @returns the names of those that were run now, by any of these attempts
 * @throws {LockedTablesError}
 */
export async function runMigrations(
  dataSource: DataSource,
  patience: Patience = {},
  begun: Set<string> = new Set(),
): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  const failure = new LastWords();
  dataSource.logger = failure;
  try {
    await runner.query(lifting());
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    for (const { name } of await executor.getPendingMigrations()) begun.add(name);
    await patiently(runner, () => executor.executePendingMigrations(), patience);
    return [...begun];
  } catch (error) {
    if (!(error instanceof LockedTablesError)) (patience.tell ?? warn)(failure.text);
    throw error;
  } finally {
    await runner.release();
  }
}

/** TypeORM prints which migration failed, also of one that is tried again: kept for what fails for good. */
class LastWords extends AbstractLogger {
  text = 'No migration was begun';

  protected writeLog(_: LogLevel, message: LogMessage): void {
    this.text = String(message.message);
  }
}
