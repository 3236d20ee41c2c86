import type { BatchResult, DueDeadline } from './deadline-handler';

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
}

/** So many fail before anything is made of none having succeeded. */
export const MANY = 8;

/** Many were tried, one by one and taken at random, and none succeeded: the handler is to blame. */
export class HandlerFaultError extends Error {
  constructor(override readonly cause: unknown) {
    super(`Handling fails for all: ${String(cause)}`);
  }
}

/** How many have failed of how many: what the size of pieces is chosen by. */
export interface FailureRate {
  failed: number;
  succeeded: number;
}

/** Pieces that fail as often as not tell most: so large, where so many of a hundred fail. */
const TELLING = 0.7;
const REMEMBERED = 10_000;

/**
 * Handles a batch in pieces, by `attempt`, which undoes what fails. A piece that fails is halved
 * until the one to blame is found; what is left of it is tried again with others. Where the error
 * names one of them (`suspectOf`), that one is tried alone at once. Pieces get as large as few
 * failures allow, so that many clean ones cost few attempts.
 *
 * @throws {HandlerFaultError} when `isJudged`, and the first of them all fail
 * @throws what `attempt` throws that is not `isSubjectsFault`
 */
export async function handleApart(
  due: readonly DueDeadline[],
  attempt: (piece: readonly DueDeadline[]) => Promise<BatchResult>,
  given: {
    readonly rate: FailureRate;
    readonly isSubjectsFault: (error: unknown) => boolean;
    readonly isJudged: boolean;
    readonly suspectOf?: (error: unknown, piece: readonly DueDeadline[]) => DueDeadline | undefined;
  },
): Promise<HandledApart> {
  const { rate, isSubjectsFault, isJudged, suspectOf } = given;
  const total = { changed: 0, lost: 0, putBack: [] as DueDeadline[], failed: [] as Failed[] };
  let succeeded = 0;
  /** The error where the piece failed. */
  const fails = async (piece: readonly DueDeadline[]): Promise<{ error: unknown } | undefined> => {
    try {
      const { changed, lost, putBack = [] } = await attempt(piece);
      total.changed += changed;
      total.lost += lost;
      total.putBack.push(...putBack);
      succeeded += piece.length;
      rate.succeeded += piece.length;
      return undefined;
    } catch (error) {
      if (!isSubjectsFault(error)) throw error;
      return { error };
    }
  };
  // At random: those to blame may well stand together.
  const left = shuffled(due);
  while (left.length > 0) {
    let piece = left.splice(-pieceSize(rate, due.length));
    // Only one that is alone is ever blamed: a piece may fail for its size.
    let failure = await fails(piece);
    while (failure && piece.length > 1) {
      const suspect = suspectOf?.(failure.error, piece);
      if (suspect) {
        left.push(...piece.filter((one) => one !== suspect));
        piece = [suspect];
        failure = await fails(piece);
        continue;
      }
      const half = Math.floor(piece.length / 2);
      const [first, second] = [piece.slice(0, half), piece.slice(half)];
      failure = await fails(first);
      if (failure) left.push(...second);
      piece = failure ? first : second;
      if (!failure) failure = piece.length === 1 ? await fails(piece) : { error: undefined };
    }
    if (!failure) continue;
    total.failed.push({ due: piece[0] as DueDeadline, error: failure.error });
    rate.failed += 1;
    const isForAll = succeeded === 0 && total.failed.length >= MANY;
    if (isJudged && isForAll) throw new HandlerFaultError(failure.error);
  }
  forgetSome(rate);
  return total;
}

function pieceSize({ failed, succeeded }: FailureRate, all: number): number {
  if (failed === 0) return Math.ceil(all / 2);
  return Math.max(1, Math.round((TELLING * (succeeded + failed)) / (failed + 0.5)));
}

function forgetSome(rate: FailureRate): void {
  if (rate.failed + rate.succeeded < REMEMBERED) return;
  rate.failed /= 2;
  rate.succeeded /= 2;
}

function shuffled<T>(all: readonly T[]): T[] {
  const some = [...all];
  for (let n = some.length - 1; n > 0; n--) {
    const other = Math.floor(Math.random() * (n + 1));
    [some[n], some[other]] = [some[other] as T, some[n] as T];
  }
  return some;
}
