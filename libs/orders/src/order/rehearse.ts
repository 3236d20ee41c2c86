import { inTransaction, type Transaction } from '@app/timeout';
import type { DataSource } from 'typeorm';

/** Thrown inside a transaction to undo what was only rehearsed. */
class Rehearsed<T> extends Error {
  constructor(readonly outcome: T) {
    super('rolled back on purpose');
  }
}

/**
 * Runs `work` in a transaction; in a dry run it is the same one, rolled back at its end. So a dry run refuses
 * what the real one refuses, and answers as that would.
 */
export async function rehearse<T>(
  dryRun: boolean,
  dataSource: DataSource,
  work: (tx: Transaction) => Promise<T>,
  options: { readonly sinceMs?: number } = {},
): Promise<T> {
  if (!dryRun) return inTransaction(dataSource, work, options);
  try {
    return await inTransaction<never>(
      dataSource,
      async (tx) => {
        throw new Rehearsed(await work(tx));
      },
      options,
    );
  } catch (error) {
    if (error instanceof Rehearsed) return error.outcome as T;
    throw error;
  }
}
