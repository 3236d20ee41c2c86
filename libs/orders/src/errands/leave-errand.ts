import { isInfrastructureError } from '@app/timeout';
import type { Queryable } from '../order/order-rows';
import { LastcallError } from '../order/errors';
import { uuidv7 } from '../order/uuid';
import {
  type Answer,
  type ErrandArgs,
  type ErrandName,
  type ErrandResult,
  TAKEN_WITHIN_MS,
  WAITED_FOR_MS,
} from './errand-kinds';

const LOOK_EVERY_MS = 200;
/** From the moment somebody has taken it. */
const ANSWERED_WITHIN_MS = 20_000;

/** An errand without an answer, told apart by what is known of it. */
export class ErrandError extends Error {
  constructor(
    /**
     * `not_taken`: no worker came for it; `interrupted`: it was taken back before one came. It
     * is withdrawn then, and nothing was changed. `unanswered`: one may have begun; what became of it is not known.
     */
    readonly state: 'not_taken' | 'interrupted' | 'unanswered',
    readonly what: ErrandName,
    options?: ErrorOptions,
  ) {
    super(`${what}: ${state}`, options);
    this.name = 'ErrandError';
  }
}

/**
 * Leaves it to a worker, and waits for what comes of it. Nobody begins it any more three
 * seconds after this has ended, however it did.
 * @param signal aborted: it is withdrawn, unless a worker has begun
 * @throws {LastcallError} what the use case has refused it with, there
 * @throws {ErrandError}
 */
export async function leaveErrand<Name extends ErrandName>(
  sql: Queryable,
  signal: AbortSignal,
  what: Name,
  args: ErrandArgs<Name>,
): Promise<ErrandResult<Name>> {
  const errand = { id: uuidv7(), what, args: JSON.stringify(args) };
  const answer = await answerTo<ErrandResult<Name>>(sql, signal, errand);
  if (answer.refusal?.code !== 'unavailable') return resultOf(answer);
  // Its worker does not know either.
  throw new ErrandError('unanswered', what, { cause: new Error(answer.refusal.message) });
}

interface Errand {
  readonly id: string;
  readonly what: ErrandName;
  readonly args: string;
}

interface Progress<Result> {
  readonly hasBegun: boolean;
  /** It was not looked at for so long that nobody begins it any more. */
  readonly hasLapsed: boolean;
  readonly answer: Answer<Result> | null;
}

async function answerTo<Result>(
  sql: Queryable,
  signal: AbortSignal,
  { id, what, args }: Errand,
): Promise<Answer<Result>> {
  let endsAtMs = performance.now() + TAKEN_WITHIN_MS;
  let hasBegun = false;
  const ask = () => sql.rows(ASK, [id, what, args]);
  // Where the database goes away meanwhile, it may be written all the same: it is asked once more.
  let isAsked = await ask().then(isDone, (error: unknown) => {
    if (!isInfrastructureError(error)) throw error;
    return false;
  });
  for (; ; await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))) {
    const isOver = performance.now() > endsAtMs;
    const ends = isOver || (signal.aborted && !hasBegun);
    isAsked ||= !ends && (await ask().then(isDone, isNotKnown));
    if (!isAsked && ends) throw new ErrandError('unanswered', what);
    if (!isAsked) continue;
    const rows = await sql.rows<Progress<Result>>(LOOK, [id]).catch(() => undefined);
    const row = rows?.[0];
    if (row?.answer) {
      // Forgotten in an hour where this fails.
      await sql.rows('DELETE FROM errands WHERE id = $1', [id]).catch(isNotKnown);
      return row.answer;
    }
    if (rows && !row) throw new ErrandError('unanswered', what);
    if (row?.hasBegun && !hasBegun) {
      hasBegun = true;
      endsAtMs = performance.now() + ANSWERED_WITHIN_MS;
      continue;
    }
    if (hasBegun && isOver) throw new ErrandError('unanswered', what);
    if (hasBegun || !(ends || row?.hasLapsed)) continue;
    const withdrawn = await withdraw(sql, id).catch(() => undefined);
    if (withdrawn === undefined) throw new ErrandError('unanswered', what);
    // One that is begun in this very moment stays, and is waited for.
    if (withdrawn) throw new ErrandError(signal.aborted ? 'interrupted' : 'not_taken', what);
  }
}

const isDone = (): boolean => true;
const isNotKnown = (): boolean => false;

const ASK = `INSERT INTO errands (id, what, args) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`;

/** Workers take what somebody waits for; what has lapsed stays so, as who asked may have asked again. */
const LOOK = `UPDATE errands
     SET waited_at = CASE WHEN waited_at > now() - ${WAITED_FOR_MS} * interval '1 millisecond'
                          THEN now() ELSE waited_at END
   WHERE id = $1
  RETURNING begun_at IS NOT NULL AS "hasBegun", waited_at < now() AS "hasLapsed", answer`;

async function withdraw(sql: Queryable, id: string): Promise<boolean> {
  const rows = await sql.rows(
    'DELETE FROM errands WHERE id = $1 AND begun_at IS NULL RETURNING id',
    [id],
  );
  return rows.length > 0;
}

function resultOf<Result>(answer: Answer<Result>): Result {
  if (!answer.refusal) return answer.result;
  const { code, message, fields } = answer.refusal;
  throw new LastcallError(code, message, fields);
}
