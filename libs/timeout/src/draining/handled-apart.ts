import type { DueDeadline } from '../deadlines/deadline-handler';

/** A subject for which handling fails also when it is alone. */
export interface Failed {
  readonly due: DueDeadline;
  readonly error: unknown;
}

/** What came of a batch that was handled in pieces. */
export interface HandledApart {
  readonly changed: number;
  readonly lost: number;
  readonly putBack: readonly DueDeadline[];
  readonly failed: readonly Failed[];
  /** Somebody holds a row that these need; nothing speaks against them. */
  readonly locked: readonly Failed[];
  /** Not tried to the end, so that the others need not wait for it. */
  readonly left: readonly DueDeadline[];
  /** How many were handled, by whatever outcome. */
  readonly succeeded: number;
}

/** So many fail before anything is made of none having succeeded. */
export const MANY = 8;

/** Many were tried, one by one and taken at random, and none succeeded: the handler is to blame. */
export class HandlerFaultError extends Error {
  constructor(override readonly cause: unknown) {
    super(`Handling fails for all: ${String(cause)}`);
  }
}

/** Each that was tried has waited in vain for a table, and none succeeded: it is locked for all of them. */
export class TableLockedError extends Error {
  /** No cause: contention is tried again at once. */
  constructor(readonly failure: unknown) {
    super(`A table is locked: ${String(failure)}`);
  }
}
