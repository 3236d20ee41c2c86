import type { DataSource } from 'typeorm';
import { commit, CommitUnknownError } from './commit';
import { isContention } from './database-errors';
import { StillLockedError } from './locked-statements';
import { pause } from './pause';
import { discardConnection, resetSession } from './send-statement';
import { Transaction, type TransactionOptions } from './transaction';

const MAX_ATTEMPTS = 5;
const RETRY_BASE_MS = 10;
/** No attempt begins later: whoever has waited for a lock this long is told so, not kept waiting. */
const RETRY_WITHIN_MS = 2_500;

/**
 * Runs `work` in one READ COMMITTED transaction and commits it. Serialization failures,
 * deadlocks and lock timeouts roll the whole of it back and run it again, with jitter, up to
 * five times and for a few seconds: `work` must have no effect outside the transaction but
 * through `afterCommit`.
 * @throws {CommitUnknownError} where the answer to COMMIT never came
 */
export async function inTransaction<T>(
  dataSource: DataSource,
  work: (tx: Transaction) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  const startedMs = performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptTransaction(dataSource, work, options);
    } catch (error) {
      const isLast = attempt >= MAX_ATTEMPTS || performance.now() - startedMs > RETRY_WITHIN_MS;
      if (isLast || !isContention(error) || error instanceof StillLockedError) throw error;
      await pause(Math.random() * RETRY_BASE_MS * 2 ** attempt);
    }
  }
}

async function attemptTransaction<T>(
  dataSource: DataSource,
  work: (tx: Transaction) => Promise<T>,
  options: TransactionOptions | undefined,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  const tx = new Transaction(runner, options);
  let result: T;
  try {
    // READ COMMITTED by the connection's settings: naming it here would be one more round trip.
    await runner.startTransaction();
    result = await work(tx);
    tx.end();
    tx.assertSound();
    await tx.settle();
    await commit(runner);
  } catch (error) {
    tx.end();
    // A connection that broke cannot roll back, and is of no more use; the first error tells why.
    const isLost = runner.isReleased;
    if (runner.isTransactionActive)
      await runner.rollbackTransaction().catch(() => discardConnection(runner));
    const isKnown = error instanceof CommitUnknownError;
    throw isLost && !isKnown ? new ConnectionLostError(error) : error;
  } finally {
    if (tx.isLent) await resetSession(runner);
    await runner.release();
  }
  tx.committed();
  return result;
}

/** The connection ended within a transaction, as where Postgres has found it idle for too long. */
export class ConnectionLostError extends Error {
  constructor(cause: unknown) {
    // Read by isInfrastructureError, as what node-postgres itself says of it would be.
    super('Connection terminated within a transaction', { cause });
  }
}
