/**
 * One savepoint that attempts of a transaction use one after the other: set only when an attempt
 * makes its first statement, and replaced by the next one's in the same round trip.
 */
export class Savepoint {
  /** An attempt is under way; its savepoint is set with its first statement. */
  #setting: Promise<void> | undefined;
  #isWanted = false;
  /** There is one in the transaction. */
  #isThere = false;
  /** It is as the present attempt found it. */
  #isFresh = false;

  constructor(private readonly send: (sql: string) => Promise<void>) {}

  /** An attempt begins. */
  begin(): void {
    this.#isWanted = true;
    this.#setting = undefined;
  }

  /** To be awaited before each statement. */
  async set(): Promise<void> {
    if (!this.#isWanted) {
      // Made outside of attempts: none may undo it.
      this.#isFresh = false;
      return;
    }
    this.#setting ??= this.#set();
    await this.#setting;
  }

  /** The attempt has succeeded: what it did stays. */
  end(): void {
    if (this.#setting) this.#isFresh = false;
    this.#isWanted = false;
  }

  /** The attempt has failed: what it did is undone. */
  async rollBack(): Promise<void> {
    this.#isWanted = false;
    if (!this.#setting) return;
    await this.#setting;
    await this.send('ROLLBACK TO SAVEPOINT attempt');
    this.#isFresh = true;
  }

  async #set(): Promise<void> {
    if (this.#isFresh) return;
    await this.send(`${this.#isThere ? 'RELEASE SAVEPOINT attempt; ' : ''}SAVEPOINT attempt`);
    this.#isThere = this.#isFresh = true;
  }
}
