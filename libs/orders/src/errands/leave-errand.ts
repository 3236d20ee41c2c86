import type { Queryable } from '../order/order-rows';
import { type ErrorCode, LastcallError } from '../order/errors';
import { uuidv7 } from '../order/uuid';
import {
  type ErrandArgs,
  type ErrandName,
  type ErrandResult,
  TAKEN_WITHIN_MS,
} from './errand-kinds';

const LOOK_EVERY_MS = 100;
/** From the moment somebody has taken it: longer than any use case takes. */
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
 * Leaves it to a worker of the host, and waits for what comes of it.
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
  await sql.rows('INSERT INTO errands (id, what, args) VALUES ($1, $2, $3)', [
    id,
    what,
    JSON.stringify(args),
  ]);
  try {
    return resultOf(await answerTo<ErrandResult<Name>>(sql, signal, { id, what }));
  } catch (error) {
    if (error instanceof ErrandError || error instanceof LastcallError) throw error;
    // The database went away meanwhile: what stands there may still be taken.
    throw new ErrandError('unanswered', what, { cause: error });
  }
}

async function answerTo<Result>(
  sql: Queryable,
  signal: AbortSignal,
  { id, what }: { readonly id: string; readonly what: ErrandName },
): Promise<Answer<Result>> {
  let endsAtMs = performance.now() + TAKEN_WITHIN_MS;
  let hasBegun = false;
  for (;;) {
    const [row] = await sql.rows<{ hasBegun: boolean; answer: Answer<Result> | null }>(
      'SELECT begun_at IS NOT NULL AS "hasBegun", answer FROM errands WHERE id = $1',
      [id],
    );
    if (row?.answer) {
      await sql.rows('DELETE FROM errands WHERE id = $1', [id]);
      return row.answer;
    }
    if (row?.hasBegun && !hasBegun) {
      hasBegun = true;
      endsAtMs = performance.now() + ANSWERED_WITHIN_MS;
    }
    const isOver = performance.now() > endsAtMs;
    if (!row || (hasBegun && isOver)) throw new ErrandError('unanswered', what);
    // One that is begun in this very moment stays, and is waited for.
    if (!hasBegun && (isOver || signal.aborted) && (await withdraw(sql, id))) {
      throw new ErrandError(signal.aborted ? 'interrupted' : 'not_taken', what);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
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
