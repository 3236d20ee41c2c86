/** A driver's store did not do what it was asked; `cause` says why. */
export class AlarmStoreError extends Error {
  readonly code = 'alarm_store';

  constructor(message: string, cause?: unknown) {
    super(cause instanceof Error ? `${message}: ${cause.message}` : message, { cause });
    this.name = 'AlarmStoreError';
  }
}
