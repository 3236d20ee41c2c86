/**
 * Pieces of which nearly every second fails tell most: so large, where so many of a hundred fail.
 * Below what would tell most of all, as a piece that fails costs more than one that does not.
 */
const TELLING = 0.5;
const REMEMBERED = 10_000;

/** How many have failed of how many: what the size of pieces is chosen by. */
export interface FailureRate {
  failed: number;
  succeeded: number;
}

/** Of those that are tried for the first time, and of those that have failed before. */
export class FailureRates {
  readonly fresh: FailureRate = { failed: 0, succeeded: 0 };
  /** Until something is known of them: each by itself. */
  readonly again: FailureRate = { failed: 1, succeeded: 0 };

  /** Nothing is known any more. */
  forget(): void {
    Object.assign(this.fresh, { failed: 0, succeeded: 0 });
    Object.assign(this.again, { failed: 1, succeeded: 0 });
  }
}

/** How many to try at once, of `all`. */
export function pieceSize({ failed, succeeded }: FailureRate, all: number): number {
  if (failed === 0) return Math.ceil(all / 2);
  return Math.max(1, Math.round((TELLING * (succeeded + failed)) / (failed + 0.5)));
}

export function forgetSome(rate: FailureRate): void {
  if (rate.failed + rate.succeeded < REMEMBERED) return;
  rate.failed /= 2;
  rate.succeeded /= 2;
}
