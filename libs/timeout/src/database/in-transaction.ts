import type { DataSource } from 'typeorm';
import { commit, CommitUnknownError } from './commit';
import { isContention, isLockTimeout } from './database-errors';
import { isStillLocked } from './locked-statements';
import { StoodStillError } from './others-errors';
import { pause } from '../pause';
import { discardConnection, resetSession } from './send-statement';
import { Transaction, type TransactionOptions } from './transaction';

const MAX_ATTEMPTS = 5;
const RETRY_BASE_MS = 10;
/**
 * So long a caller waits for a lock, over all attempts, and with what it has waited for before: it hears within three
 * seconds that somebody has it.
 */
const PATIENCE_MS = 2_400;
/** So long an attempt does by the limit of its session: with less than that left, by what is left. */
const SESSION_WAITS_MS = 1_000;
/** For less than this nobody tries again; who comes without any patience left waits so long all the same. */
const LEAST_WAIT_MS = 250;

export interface InTransactionOptions extends TransactionOptions {
  /** Since when whoever is to be answered has been waiting, by `performance.now()`. Default: since now. */
  readonly sinceMs?: number;
  /** So long it is tried from then on. Default: 2.4 seconds. */
  readonly patienceMs?: number;
}

/**
 * Runs `work` in one READ COMMITTED transaction and commits it. Serialization failures,
 * deadlocks and lock timeouts roll the whole of it back and run it again, with jitter, up to
 * five times and for 2.4 seconds: `work` must have no effect outside the transaction but
 * through `afterCommit`.
 * @throws {CommitUnknownError} where the answer to COMMIT never came
 */
export async function inTransaction<T>(
  dataSource: DataSource,
  work: (tx: Transaction) => Promise<T>,
  { sinceMs = performance.now(), patienceMs = PATIENCE_MS, ...options }: InTransactionOptions = {},
): Promise<T> {
  const left = (): number => sinceMs + patienceMs - performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      const limited = async (tx: Transaction): Promise<T> => {
        await limitWait(tx, left());
        return work(tx);
      };
      return await attemptTransaction(dataSource, limited, options);
    } catch (error) {
      // Who was the loser of others once, as by a deadlock, tries again whatever has been waited for.
      const mayTry = left() >= LEAST_WAIT_MS || (attempt === 1 && !isLockTimeout(error));
      const isLast = attempt >= MAX_ATTEMPTS || !mayTry;
      if (isLast || !isContention(error) || isStillLocked(error)) throw error;
      await pause(Math.random() * RETRY_BASE_MS * 2 ** attempt);
    }
  }
}

/** What is left once there is a connection: it may have been waited for, too. */
async function limitWait(tx: Transaction, leftMs: number): Promise<void> {
  if (leftMs >= SESSION_WAITS_MS) return;
  await tx.hot(WAIT_NO_LONGER, [Math.round(Math.max(leftMs, LEAST_WAIT_MS))]);
}

/** A session without a limit keeps none. */
const WAIT_NO_LONGER = `SELECT set_config('lock_timeout', least(setting::int, $1)::text, true)
  FROM pg_settings WHERE name = 'lock_timeout' AND setting <> '0'`;

async function attemptTransaction<T>(
  dataSource: DataSource,
  work: (tx: Transaction) => Promise<T>,
  options: TransactionOptions,
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
    const isKnown = error instanceof CommitUnknownError || error instanceof StoodStillError;
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
