/** Batches one at a time, where they have held each other up, until some go beside each other again. */
const ALONE_FOR = 20;
/** So often one is tried as a whole: until another process has met the same, its batches hold up ours. */
const MOST_TRIES = 3;

/**
 * Batches that were held up as a whole, as somebody has a row that they need. That may be a batch beside
 * them, as where the handler needs one row for all: then those meet nobody that go alone, by the first of the turns.
 */
export class HeldUpBatches {
  #aloneFor = 0;
  /** How many have been held up since one was not. */
  #inARow = 0;

  /** True while batches of the kind are to be handled one after the other. */
  get askToBeAlone(): boolean {
    return this.#aloneFor > 0;
  }

  /** One was, that had one of so many turns: true where it is to be tried again as a whole, as others are under way. */
  triesAgain(turns: number, areOthersUnderWay: boolean): boolean {
    const mayTry = turns > 1 || (this.askToBeAlone && this.#inARow < MOST_TRIES);
    const triesAgain = areOthersUnderWay && mayTry;
    this.#inARow = triesAgain ? this.#inARow + 1 : 0;
    this.#aloneFor = triesAgain ? ALONE_FOR : 0;
    return triesAgain;
  }

  /** One was not. */
  passed(): void {
    this.#aloneFor = Math.max(0, this.#aloneFor - 1);
    this.#inARow = 0;
  }
}
