/**
 * One savepoint that attempts of a transaction use one after the other: set only when an attempt
 * makes its first statement. What it takes goes out together with that statement, and so does what
 * undoes a failed attempt: neither waits for an answer of its own.
 */
export class Savepoint {
  /** An attempt is under way. */
  #isAttempt = false;
  /** It has made a statement, so that the savepoint is set for it. */
  #isSet = false;
  /** There is one in the transaction. */
  #isThere = false;
  /** It is as the present attempt found it, or will be once what is owed is sent. */
  #isFresh = false;
  /** What the failed attempt did still has to be undone. */
  #owesRollback = false;

  /** An attempt begins. */
  begin(): void {
    this.#isAttempt = true;
  }

  /** What is to be sent right before the transaction's next statement; undefined: nothing. */
  beforeStatement(): string | undefined {
    const owed = this.owed();
    const isNeeded = this.#isAttempt && !this.#isFresh;
    // Made outside of attempts: none may undo it. Within one, it is the attempt's to undo.
    this.#isFresh = false;
    if (!this.#isAttempt) return owed;
    if (this.#isSet) return undefined;
    this.#isSet = true;
    if (!isNeeded) return owed;
    const again = this.#isThere ? 'RELEASE SAVEPOINT attempt; ' : '';
    this.#isThere = true;
    return `${again}SAVEPOINT attempt`;
  }

  /** The attempt has succeeded: what it did stays. */
  end(): void {
    this.#isAttempt = this.#isSet = false;
  }

  /** The attempt has failed: what it did is undone by what is sent next. */
  rollBack(): void {
    this.#isAttempt = false;
    if (!this.#isSet) return;
    this.#isSet = false;
    this.#isFresh = this.#owesRollback = true;
  }

  /** What has to be sent where no statement follows, before the commit; undefined: nothing. */
  owed(): string | undefined {
    if (!this.#owesRollback) return undefined;
    this.#owesRollback = false;
    return 'ROLLBACK TO SAVEPOINT attempt';
  }
}
