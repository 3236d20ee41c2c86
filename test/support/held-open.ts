import type { DataSource, QueryRunner } from 'typeorm';

/**
 * A transaction that a test holds open. The application's own connections end one that stands still
 * for three seconds, which a test on a busy machine may do.
 */
export async function beginHeldOpen(
  dataSource: DataSource,
  isolation?: 'REPEATABLE READ',
): Promise<QueryRunner> {
  const runner = dataSource.createQueryRunner();
  await runner.startTransaction(isolation);
  await runner.query(MAY_STAND_STILL);
  return runner;
}

export const MAY_STAND_STILL = 'SET LOCAL idle_in_transaction_session_timeout = 0';
