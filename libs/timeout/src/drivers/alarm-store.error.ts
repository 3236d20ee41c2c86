import { wordsOf } from '../causes';

/** A driver's store did not do what it was asked; `cause` says why. */
export class AlarmStoreError extends Error {
  readonly code = 'alarm_store';

  constructor(message: string, cause?: unknown) {
    super(cause instanceof Error ? `${message}: ${wordsOf(cause)}` : message, { cause });
    this.name = 'AlarmStoreError';
  }
}
