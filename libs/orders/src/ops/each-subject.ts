import { isCanceledStatement, isContention, isInfrastructureError, sqlStateOf } from '@app/timeout';
import { DataSource } from 'typeorm';
import { LastcallError } from '../order/errors';
import type { OrdersTelemetry } from '../order/telemetry';
import { postgresRefusal } from '../order/postgres-refusal';
import { refusalOfUnkeptText } from '../order/unkept-text';

export interface EachSubject<Result> {
  /** What this is called in the log. */
  readonly what: string;
  /** Subjects at once: each takes a connection of the API's pool of 20. */
  readonly concurrency: number;
  readonly dataSource: DataSource;
  readonly telemetry: OrdersTelemetry;
  /** Aborted: begins no further subject. */
  readonly signal?: AbortSignal | undefined;
  act(id: string): Promise<Result>;
  /** What is told of a subject that could not be done. */
  refused(id: string, why: LastcallError): Result;
  onResult?(result: Result): void;
}

/**
 * Does the same to each of these, a few at once: what one of them fails with is its own result, and
 * hides nobody else's. A database that is gone altogether ends it early.
 * @returns results at the places of their ids; undefined where a subject was not begun
 */
export async function toEach<Result>(
  ids: readonly string[],
  each: EachSubject<Result>,
): Promise<(Result | undefined)[]> {
  const results = new Array<Result | undefined>(ids.length).fill(undefined);
  const queue = [...ids.entries()];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next && !each.signal?.aborted; next = queue.shift()) {
      const [place, id] = next;
      let why: LastcallError | undefined;
      const result = await each.act(id).catch((error: unknown) => {
        why = refusalOf(error);
        if (why !== error) each.telemetry.failed(each.what, error);
        return each.refused(id, why);
      });
      results[place] = result;
      each.onResult?.(result);
      // One connection may have been cut, for this subject alone: the database itself is asked.
      if (why?.code === 'unavailable' && !(await answers(each.dataSource))) queue.length = 0;
    }
  };
  await Promise.all(Array.from({ length: Math.min(each.concurrency, ids.length) }, worker));
  return results;
}

/** Any error in words for an operator: never SQL, never a message of unknown origin. */
export function refusalOf(error: unknown): LastcallError {
  if (error instanceof LastcallError) return error;
  const because = (code: 'busy' | 'unavailable' | 'internal_error', message: string) =>
    new LastcallError(code, message, {}, { cause: error });
  if (isContention(error)) {
    return because('busy', 'Others are changing the same things; try it again in a moment');
  }
  if (isCanceledStatement(error)) {
    return because('unavailable', 'Postgres took too long; try it again when the load is lower');
  }
  // It has spoken: what the connection is blamed for below is what nobody has said.
  const refused = postgresRefusal(error);
  if (refused) return because('unavailable', `${refused.what}; ${refused.mend}`);
  if (isInfrastructureError(error)) {
    return because(
      'unavailable',
      'The connection to the database broke: whether it was done is not known; try it again',
    );
  }
  const unkept = refusalOfUnkeptText(error);
  if (unkept) return unkept;
  const state = sqlStateOf(error);
  const told = state === undefined ? '' : ` (SQLSTATE ${state})`;
  return because('internal_error', `A fault of ours${told}: the log tells more; please report it`);
}

async function answers(dataSource: DataSource): Promise<boolean> {
  return dataSource.query('SELECT 1').then(
    () => true,
    () => false,
  );
}
