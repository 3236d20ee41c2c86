import { isInfrastructureError } from '@app/timeout';
import type { Queryable } from '../order/order-rows';
import { type ErrorCode, LastcallError } from '../order/errors';
import { uuidv7 } from '../order/uuid';
import {
  type ErrandArgs,
  type ErrandName,
  type ErrandResult,
  TAKEN_WITHIN_MS,
} from './errand-kinds';

const LOOK_EVERY_MS = 200;
/** From the moment somebody has taken it. */
const ANSWERED_WITHIN_MS = 20_000;

type Answer<Result> =
  | { readonly result: Result; readonly refusal?: undefined }
  | {
      readonly refusal: {
        readonly code: ErrorCode;
        readonly message: string;
        readonly fields: Readonly<Record<string, unknown>>;
      };
    };

/** An errand without an answer, told apart by what is known of it. */
export class ErrandError extends Error {
  constructor(
    /**
     * `not_taken`: no worker of the host came for it; `interrupted`: it was taken back before one came. It
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
 * Leaves it to a worker of the host, and waits for what comes of it. Nobody begins it any more three
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
  const id = uuidv7();
  const values = [id, what, JSON.stringify(args)];
  // Where the database goes away meanwhile, it may be there all the same: it is looked for.
  await unlessAway(sql.rows('INSERT INTO errands (id, what, args) VALUES ($1, $2, $3)', values));
  const answer = await answerTo<ErrandResult<Name>>(sql, signal, { id, what });
  // Its worker does not know either.
  if (answer.refusal?.code === 'unavailable') throw new ErrandError('unanswered', what);
  return resultOf(answer);
}

interface Progress<Result> {
  readonly hasBegun: boolean;
  readonly answer: Answer<Result> | null;
}

async function answerTo<Result>(
  sql: Queryable,
  signal: AbortSignal,
  { id, what }: { readonly id: string; readonly what: ErrandName },
): Promise<Answer<Result>> {
  let endsAtMs = performance.now() + TAKEN_WITHIN_MS;
  let [isThere, hasBegun] = [false, false];
  for (; ; await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))) {
    const rows = await unlessAway(sql.rows<Progress<Result>>(LOOK, [id]));
    const isOver = performance.now() > endsAtMs;
    const [row] = rows ?? [];
    // Nobody knows how far it is; nobody begins it while that lasts.
    if (!rows && !isOver && !signal.aborted) continue;
    if (row?.answer) {
      await unlessAway(sql.rows('DELETE FROM errands WHERE id = $1', [id]));
      return row.answer;
    }
    if (rows && !row) throw new ErrandError(isThere ? 'unanswered' : 'not_taken', what);
    isThere ||= row !== undefined;
    if (row?.hasBegun && !hasBegun) {
      hasBegun = true;
      endsAtMs = performance.now() + ANSWERED_WITHIN_MS;
      continue;
    }
    if (hasBegun && isOver) throw new ErrandError('unanswered', what);
    if (hasBegun || !(isOver || signal.aborted)) continue;
    const withdrawn = await unlessAway(withdraw(sql, id));
    if (withdrawn === undefined) throw new ErrandError('unanswered', what);
    // One that is begun in this very moment stays, and is waited for.
    if (withdrawn) throw new ErrandError(signal.aborted ? 'interrupted' : 'not_taken', what);
  }
}

/** Workers take what somebody waits for. */
const LOOK = `UPDATE errands SET waited_at = now() WHERE id = $1
  RETURNING begun_at IS NOT NULL AS "hasBegun", answer`;

/** Undefined where the database cannot be reached just now. */
async function unlessAway<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (!isInfrastructureError(error)) throw error;
    return undefined;
  });
}

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
