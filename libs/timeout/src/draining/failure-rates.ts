/**
 * Pieces of which nearly every second fails tell most: so large, where so many of a hundred fail.
 * Below what would tell most of all, as a piece that fails costs more than one that does not.
 */
const TELLING = 0.5;
/** So many where errors name who is to blame: several are then found in a piece by one try each. */
const TELLING_BY_NAME = 1.25;
const REMEMBERED = 10_000;
/** So many that errors name have to fail alone before the next are taken for what fails without a look. */
const PROOFS = 4;

/** How many have failed of how many: what the size of pieces is chosen by. */
export interface FailureRate {
  failed: number;
  succeeded: number;
}

/** Whether those that errors name are the ones that fail: an error may also name whom it met first. */
class Names {
  #proofs = 0;

  get areTrusted(): boolean {
    return this.#proofs >= PROOFS;
  }

  /** Each batch proves it once more. */
  beginBatch(): void {
    this.#proofs = Math.min(this.#proofs, PROOFS - 1);
  }

  /** One that was named was tried alone. */
  tried(hasFailed: boolean): void {
    this.#proofs = hasFailed ? this.#proofs + 1 : 0;
  }

  forget(): void {
    this.#proofs = 0;
  }
}

/** Of those that are tried for the first time, and of those that have failed before. */
export class FailureRates {
  readonly fresh: FailureRate = { failed: 0, succeeded: 0 };
  /** Until something is known of them: each by itself. */
  readonly again: FailureRate = { failed: 1, succeeded: 0 };
  readonly names = new Names();

  /** Nothing is known any more. */
  forget(): void {
    Object.assign(this.fresh, { failed: 0, succeeded: 0 });
    Object.assign(this.again, { failed: 1, succeeded: 0 });
    this.names.forget();
  }
}

/** How many to try at once, of `all`; `isNamed`: errors tell which of them fail. */
export function pieceSize(
  { failed, succeeded }: FailureRate,
  all: number,
  isNamed: boolean,
): number {
  if (failed === 0) return Math.ceil(all / 2);
  const telling = isNamed ? TELLING_BY_NAME : TELLING;
  return Math.max(1, Math.round((telling * (succeeded + failed)) / (failed + 0.5)));
}

export function forgetSome(rate: FailureRate): void {
  if (rate.failed + rate.succeeded < REMEMBERED) return;
  rate.failed /= 2;
  rate.succeeded /= 2;
}
