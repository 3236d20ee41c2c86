import { setImmediate } from 'node:timers/promises';
import type { ClaimedBatch } from './claimed-batch';
import { isContention, isLockTimeout, isTableLocked } from '../database/database-errors';
import type {
  BatchResult,
  Claimant,
  DeadlineHandler,
  DueDeadline,
  FollowUpJudge,
} from '../deadlines/deadline-handler';
import type { FailureRates } from './failure-rates';
import { handleApart } from './handle-apart';
import { type HandledApart, HandlerFaultError } from './handled-apart';
import { giveUp } from '../database/stood-still';
import { isSubjectsFault, subjectNamedBy } from './subject-failure';
import type { Suspects } from './suspects';
import { ConnectionLostError } from '../database/in-transaction';
import type { Transaction } from '../database/transaction';

/**
 * A piece waits no longer for a row that somebody holds: what is short, as a commit, is over by
 * then, and the one who needs a row that is held for longer is found before others feel it.
 */
const LOCK_WAIT_MS = 10;
/** Once so many of a batch were waited for in vain, the next are held for longer as well, by all appearances. */
const [MANY_WAITS, SHORT_WAIT_MS] = [8, 1];

/** No session is ended for standing still before; short beside any limit of ours. */
const STANDSTILL_MS = 100;

/** Those of a batch that were not handled. */
export type Aside = Pick<HandledApart, 'failed' | 'locked' | 'left'>;
export const NOBODY: Aside = { failed: [], locked: [], left: [] };

/** Somebody's lock was waited for in vain. No contention, which is tried again: the whole batch would wait again. */
export class RowHeldError extends Error {
  constructor(readonly failure: unknown) {
    super(`A row is held: ${String(failure)}`);
  }
}

/** A handler is silent about these, and may be for good; or was until the database gave it up. */
export class UnansweredError extends Error {
  private constructor(
    kind: string,
    readonly piece: readonly DueDeadline[],
    how: string,
    said = '',
  ) {
    super(`The handler of "${kind}" has ${how}, for ${piece.length}${said}`);
  }

  static within(limitMs: number, kind: string, piece: readonly DueDeadline[]): UnansweredError {
    return new UnansweredError(kind, piece, `not answered within ${limitMs} ms`);
  }

  /** Whatever it has answered by then; an error of its own is told as well, and is no cause of this. */
  static stoodStill(
    kind: string,
    piece: readonly DueDeadline[],
    answer: object = {},
  ): UnansweredError {
    const how = 'made no statement for so long that Postgres has ended its transaction';
    const said = 'error' in answer ? `: ${String(answer.error)}` : '';
    return new UnansweredError(kind, piece, how, said);
  }

  /** A connection that is lost meanwhile, as Postgres ends one that stands still, says less. */
  static in(error: unknown): UnansweredError | undefined {
    const said = error instanceof ConnectionLostError ? error.cause : error;
    return said instanceof UnansweredError ? said : undefined;
  }
}

/** How a batch is handled, and what is known of those before it. */
export interface Handling {
  readonly kind: string;
  readonly handler: DeadlineHandler;
  /** A handler that is silent for longer is not waited for. */
  readonly answerLimitMs: number;
  readonly by: Claimant;
  readonly judge: FollowUpJudge;
  readonly isApart: boolean;
  /** In pieces: what is deferred to the commit is checked with each. */
  readonly isChecked: boolean;
  /** False where the locks' store was away, or there is none: nobody is kept from these subjects. */
  readonly isLocked: boolean;
  readonly isProbe: boolean;
  readonly isJudged: boolean;
  readonly rates: FailureRates;
  readonly suspects: Suspects;
}

/**
 * Has claimed deadlines handled in the transaction that has claimed them: as a whole, or in pieces.
 *
 * @throws {HandlerFaultError} when none could be handled, and it is judged by that
 * @throws {RowHeldError} as a whole only
 * @throws {TableLockedError} in pieces only
 * @throws {UnansweredError} then nothing that the handler does by `tx` has an effect any more
 */
export async function handleClaimed(
  mine: ClaimedBatch,
  tx: Transaction,
  how: Handling,
): Promise<HandledApart> {
  const answers = new Answers(tx, how);
  const stopListening = await tx.onEnd((stoodStill) => {
    if (stoodStill) answers.tooLate();
  });
  try {
    return await (how.isApart
      ? handlePieces(mine, tx, answers, how)
      : handleWhole(mine, tx, answers, how));
  } catch (error) {
    // Said first: what was tried by the connection that was given up says less.
    throw answers.silence ?? error;
  } finally {
    stopListening();
  }
}

/** Waits for a handler's answers. */
class Answers {
  silence: UnansweredError | undefined;
  #isTooLate = false;
  #giveUp: () => void = () => undefined;
  readonly #givenUp = new Promise<undefined>((resolve) => {
    this.#giveUp = () => resolve(undefined);
  });

  constructor(
    private readonly tx: Transaction,
    private readonly how: Pick<Handling, 'kind' | 'answerLimitMs'>,
  ) {}

  /**
   * The transaction has ended under the handler: whatever it answers, nothing can be committed. It is not
   * waited for: by then another process would have claimed the same, and stand still by it.
   */
  tooLate(): void {
    this.#isTooLate = true;
    this.#giveUp();
  }

  async to<T>(question: Promise<T>, pieceOf: () => readonly DueDeadline[]): Promise<T> {
    const { kind, answerLimitMs } = this.how;
    const startedMs = performance.now();
    const answered = question.then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error }),
    );
    let timer: NodeJS.Timeout | undefined;
    const silent = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, answerLimitMs, undefined);
    });
    const first = await Promise.race([answered, silent, this.#givenUp]).finally(() =>
      clearTimeout(timer),
    );
    // A process that stood still as a whole has not read yet what Postgres said meanwhile.
    if (first && performance.now() - startedMs >= STANDSTILL_MS) await allIsRead();
    if (first && !this.#isTooLate) {
      if ('error' in first) throw first.error;
      return first.answer;
    }
    this.silence = this.#isTooLate
      ? UnansweredError.stoodStill(kind, pieceOf(), first)
      : UnansweredError.within(answerLimitMs, kind, pieceOf());
    // So that its rows are free again, where Postgres can be reached.
    await giveUp(this.tx);
    throw this.silence;
  }
}

/** Resolves once what has arrived is read: between two immediates, wherever the first comes from. */
async function allIsRead(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** Fails as the commit would; else all is as before, and still deferred. */
const CHECK_AS_THE_COMMIT = `SAVEPOINT checked; SET CONSTRAINTS ALL IMMEDIATE;
  ROLLBACK TO SAVEPOINT checked; RELEASE SAVEPOINT checked`;

async function handlePieces(
  mine: ClaimedBatch,
  tx: Transaction,
  answers: Answers,
  { handler, by, judge, isChecked, isProbe, isJudged, rates, suspects }: Handling,
): Promise<HandledApart> {
  const waitFor = (ms: number) => tx.rows(`SET LOCAL lock_timeout = ${ms}`);
  let waits = 0;
  const attempt = async (piece: readonly DueDeadline[]): Promise<BatchResult> => {
    try {
      const work = async (part: Transaction): Promise<BatchResult> => {
        const result = await handler.handle(piece, part, by, judge);
        if (isChecked) await part.rows(CHECK_AS_THE_COMMIT);
        return result;
      };
      return await tx.attempt((part) => answers.to(work(part), () => piece));
    } catch (error) {
      if (isLockTimeout(error) && ++waits === MANY_WAITS) await waitFor(SHORT_WAIT_MS);
      throw error;
    }
  };
  await waitFor(LOCK_WAIT_MS);
  const result = await handleApart(mine.each, attempt, {
    ...{ rates, isContention, isTableLocked, suspectOf: subjectNamedBy },
    isSubjectsFault: (error) =>
      !answers.silence && !(error instanceof HandlerFaultError) && isSubjectsFault(error),
    isJudged: !isProbe && isJudged,
    isSuspect: (one) => suspects.has(one),
    inTurn: (all) => suspects.inTurn(all),
  });
  await tx.rows('SET LOCAL lock_timeout TO DEFAULT');
  const [first] = result.failed;
  // Nobody's failure is counted against them when all that a probe has tried fail.
  if (isProbe && first && result.succeeded === 0) throw new HandlerFaultError(first.error);
  return result;
}

async function handleWhole(
  mine: ClaimedBatch,
  tx: Transaction,
  answers: Answers,
  { handler, by, judge, isLocked }: Handling,
): Promise<HandledApart> {
  try {
    const ask = <T>(question: Promise<T>) => answers.to(question, () => mine.each);
    const {
      changed,
      lost,
      putBack = [],
    } = handler.whole && isLocked && mine.count > 0
      ? await ask(handler.whole.handle(mine, tx, by))
      : await ask(handler.handle(mine.each, tx, by, judge));
    return { changed, lost, putBack, ...NOBODY, succeeded: mine.count };
  } catch (error) {
    throw isLockTimeout(error) ? new RowHeldError(error) : error;
  }
}
