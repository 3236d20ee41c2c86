/** What a server of somebody else's has said: by no word or code of it is our database away. */
export class OthersTroubleError extends Error {
  /** @param said no `cause`, by which it would be understood as our database's */
  constructor(
    who: string,
    readonly said: unknown,
  ) {
    const { code } = Object(said) as { readonly code?: unknown };
    super(`${who} failed: ${String(said)}${typeof code === 'string' ? ` (${code})` : ''}`);
  }
}

/**
 * Whoever had a transaction has made no statement for so long that Postgres has ended it. Nobody of ours, and nothing
 * of the database's, has caused it.
 */
export class StoodStillError extends Error {
  constructor(
    who: string,
    how = 'made no statement for so long that Postgres has ended the transaction',
  ) {
    super(`${who} ${how}`);
  }

  /** It made statements all the time, which to everybody else is the same. */
  static after(limitMs: number, who: string): StoodStillError {
    return new StoodStillError(who, `was not through after ${limitMs} ms, and was given up`);
  }
}
