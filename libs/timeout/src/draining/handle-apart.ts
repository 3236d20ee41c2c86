import type { BatchResult, DueDeadline } from '../deadlines/deadline-handler';
import { type FailureRate, type FailureRates, forgetSome, pieceSize } from './failure-rates';
import {
  type Failed,
  type HandledApart,
  HandlerFaultError,
  MANY,
  TableLockedError,
} from './handled-apart';

/** What the batch has handled stays locked meanwhile: half a second, nearly all of them being short. */
const MOST_WAITS = 250;
/** And for so many of those that are known to be held: where they are thousands, a batch may have nobody else. */
const MOST_LOOKS = 16;
/** Of a piece: where so many are named and the others fail still, names tell little of it. */
const MOST_NAMED = 8;

export interface ApartOptions {
  readonly rates: FailureRates;
  readonly isSubjectsFault: (error: unknown) => boolean;
  readonly isJudged: boolean;
  /** True where somebody else's lock was waited for in vain. */
  readonly isContention?: (error: unknown) => boolean;
  /** True where that lock was on a table. */
  readonly isTableLocked?: (error: unknown) => boolean;
  /** True for those that are tried alone, after all the others. */
  readonly isSuspect?: (due: DueDeadline) => boolean;
  /** These in the order in which to try them. */
  readonly inTurn?: (suspects: readonly DueDeadline[]) => readonly DueDeadline[];
  /** The one that an error names. */
  readonly suspectOf?: (error: unknown, piece: readonly DueDeadline[]) => DueDeadline | undefined;
}

type Attempt = (piece: readonly DueDeadline[]) => Promise<BatchResult>;

/**
 * Handles a batch in pieces, by `attempt`, which undoes what fails. A piece that fails is halved
 * until the one to blame is found; what is left of it is tried again with others. Where the error
 * names one of them, it is tried without that one, and then without the next that is named. Those are
 * tried alone as well, until the batch has shown that names are right. Pieces get as large as few
 * failures allow, so that many clean ones cost few attempts. Once others' locks have been waited for
 * so often, what is not handled yet is left.
 *
 * @throws {HandlerFaultError} when `isJudged`, and the first of them all fail
 * @throws {TableLockedError} when the first of them all wait for a table in vain
 * @throws what `attempt` throws that is not `isSubjectsFault`
 */
export async function handleApart(
  due: readonly DueDeadline[],
  attempt: Attempt,
  options: ApartOptions,
): Promise<HandledApart> {
  const apart = new Apart(attempt, options);
  const { fresh, again, names } = options.rates;
  names.beginBatch();
  const { isSuspect = () => false, inTurn = (suspects) => suspects } = options;
  const others = due.filter((one) => !isSuspect(one));
  await apart.handle(
    others.filter(({ failures }) => failures === 0),
    fresh,
  );
  // Most of these fail again: among the others they would spoil piece after piece.
  await apart.handle(
    others.filter(({ failures }) => failures > 0),
    again,
  );
  await apart.handleEach(inTurn(due.filter(isSuspect)));
  return apart.total;
}

interface Failure {
  readonly error: unknown;
}

class Apart {
  readonly total = {
    changed: 0,
    lost: 0,
    putBack: [] as DueDeadline[],
    failed: [] as Failed[],
    locked: [] as Failed[],
    left: [] as DueDeadline[],
    succeeded: 0,
  };
  #waits = 0;
  #waitsForTables = 0;
  #left: DueDeadline[] = [];
  #rate: FailureRate = { failed: 0, succeeded: 0 };

  constructor(
    private readonly attempt: Attempt,
    private readonly options: ApartOptions,
  ) {}

  async handle(due: readonly DueDeadline[], rate: FailureRate): Promise<void> {
    this.#rate = rate;
    // At random: those to blame may well stand together.
    this.#left = shuffled(due);
    while (this.#left.length > 0 && this.#waits < MOST_WAITS) {
      const size = pieceSize(rate, due.length, this.options.rates.names.areTrusted);
      const piece = this.#left.splice(-size);
      const failure = await this.#try(piece);
      if (failure) await this.#findIn(piece, failure);
    }
    this.total.left.push(...this.#left);
    forgetSome(rate);
  }

  /** What becomes of these says nothing of others. */
  async handleEach(due: readonly DueDeadline[]): Promise<void> {
    this.#rate = { failed: 0, succeeded: 0 };
    const most = Math.min(MOST_WAITS, this.#waits + MOST_LOOKS);
    for (const one of due) {
      if (this.#waits >= most) this.total.left.push(one);
      else {
        const failure = await this.#try([one]);
        if (failure) this.#blame(one, failure);
      }
    }
  }

  /** The error where the piece failed. */
  async #try(piece: readonly DueDeadline[]): Promise<Failure | undefined> {
    try {
      const { changed, lost, putBack = [] } = await this.attempt(piece);
      this.total.changed += changed;
      this.total.lost += lost;
      this.total.putBack.push(...putBack);
      this.total.succeeded += piece.length;
      this.#rate.succeeded += piece.length;
      return undefined;
    } catch (error) {
      if (!this.options.isSubjectsFault(error)) throw error;
      if (this.options.isContention?.(error)) this.#waits += 1;
      if (this.options.isTableLocked?.(error)) this.#waitsForTables += 1;
      const isForAll = this.total.succeeded === 0 && this.#waitsForTables >= MANY;
      if (isForAll) throw new TableLockedError(error);
      return { error };
    }
  }

  /** Finds one to blame in a piece that has failed, or none; the rest is handled or left. */
  async #findIn(piece: readonly DueDeadline[], failure: Failure): Promise<void> {
    const [alone] = piece;
    if (piece.length === 1 && alone) return this.#blame(alone, failure);
    return this.#namedBy(failure, piece) ? this.#tryWithout(piece, failure) : this.#halve(piece);
  }

  /** Nobody before any succeeded: the handler is judged by some at random, and these are none. */
  #namedBy({ error }: Failure, piece: readonly DueDeadline[]): DueDeadline | undefined {
    return this.total.succeeded > 0 ? this.options.suspectOf?.(error, piece) : undefined;
  }

  /** Takes out those that errors name, one after the other, until the others succeed without them. */
  async #tryWithout(piece: readonly DueDeadline[], failure: Failure): Promise<void> {
    const named: Failed[] = [];
    let [others, last] = [piece, failure];
    for (;;) {
      const isUseful = others.length > 1 && named.length < MOST_NAMED;
      const suspect = isUseful ? this.#namedBy(last, others) : undefined;
      if (!suspect) return this.#cannotTell(named, others, last);
      named.push({ due: suspect, ...last });
      others = others.filter((one) => one !== suspect);
      const without = await this.#try(others);
      if (!without) break;
      last = without;
    }
    if (!this.options.rates.names.areTrusted) return void (await this.#tryAlone(named));
    for (const { due, error } of named) this.#blame(due, { error });
  }

  /** Without those that were named the others fail as well, and their error names nobody any more. */
  async #cannotTell(
    named: readonly Failed[],
    others: readonly DueDeadline[],
    failure: Failure,
  ): Promise<void> {
    const blamed = await this.#tryAlone(named);
    const [other] = others;
    if (others.length === 1 && other) return this.#blame(other, failure);
    if (blamed > 0) this.#left.push(...others);
    else await this.#halve(others);
  }

  /** How many of these, that errors have named, are to blame; the others were named for nothing. */
  async #tryAlone(named: readonly Failed[]): Promise<number> {
    let blamed = 0;
    for (const { due } of named) {
      const alone = await this.#try([due]);
      this.options.rates.names.tried(alone !== undefined);
      if (!alone) continue;
      this.#blame(due, alone);
      blamed += 1;
    }
    return blamed;
  }

  /** Of a piece that fails, and names nobody. Only one that fails alone is blamed: a piece may fail for its size. */
  async #halve(piece: readonly DueDeadline[]): Promise<void> {
    for (let failing = piece; ;) {
      const half = Math.floor(failing.length / 2);
      const [first, second] = [failing.slice(0, half), failing.slice(half)];
      const failure = await this.#try(first);
      if (failure) {
        this.#left.push(...second);
        if (first.length === 1 || this.#namedBy(failure, first)) {
          return this.#findIn(first, failure);
        }
      }
      failing = failure ? first : second;
      if (failing.length > 1) continue;
      const last = await this.#try(failing);
      return last ? this.#findIn(failing, last) : undefined;
    }
  }

  #blame(due: DueDeadline, { error }: Failure): void {
    this.#rate.failed += 1;
    if (this.options.isContention?.(error)) return void this.total.locked.push({ due, error });
    this.total.failed.push({ due, error });
    const isForAll = this.total.succeeded === 0 && this.total.failed.length >= MANY;
    if (this.options.isJudged && isForAll) throw new HandlerFaultError(error);
  }
}

function shuffled<T>(all: readonly T[]): T[] {
  const some = [...all];
  for (let n = some.length - 1; n > 0; n--) {
    const other = Math.floor(Math.random() * (n + 1));
    [some[n], some[other]] = [some[other] as T, some[n] as T];
  }
  return some;
}
