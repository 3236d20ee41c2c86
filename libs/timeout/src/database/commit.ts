import type { QueryRunner } from 'typeorm';
import { mayHaveCommitted } from './database-errors';
import { ofOwnConnection } from './own-connection';
import type { Connection } from './send-statement';

/**
 * COMMIT was sent, and its answer never came, or came too soon: all of the transaction is done, or nothing of it, or
 * a failover may undo it.
 */
export class CommitUnknownError extends Error {
  readonly code = 'commit_unknown';

  constructor(cause: unknown) {
    // Read by isInfrastructureError, as what node-postgres itself says of it would be.
    super('Connection terminated, or silent, at COMMIT: whether it was done is not known', {
      cause,
    });
  }
}

/** The function of Postgres that waits for a standby at COMMIT. */
const WAITS_FOR_STANDBY = 'SyncRepWaitForLSN';

/**
 * Commits. Where somebody cancels the wait for a standby, Postgres commits without, and says so in a warning only.
 * @throws {CommitUnknownError}
 */
export async function commit(runner: QueryRunner): Promise<void> {
  const connection = (await runner.connect()) as Connection;
  let isCanceled = false;
  const hear = ({ routine }: { readonly routine?: string }): void => {
    if (routine === WAITS_FOR_STANDBY) isCanceled = true;
  };
  connection.on('notice', hear);
  try {
    await runner.commitTransaction();
  } catch (error) {
    ofOwnConnection(error);
    throw mayHaveCommitted(error) ? new CommitUnknownError(error) : error;
  } finally {
    connection.off('notice', hear);
  }
  if (isCanceled) throw new CommitUnknownError('its wait for a standby was canceled');
}
