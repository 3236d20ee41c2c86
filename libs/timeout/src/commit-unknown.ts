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
