import type { DataSource } from 'typeorm';
import type { BrakeFacts } from './brake-table';
import { queryRows } from '../database/query-rows';

/** Why deadlines stand still, and since when. */
export interface Stopped extends BrakeFacts {
  readonly id: string;
  readonly engagedAt: Date;
}

const STOPPED = 'id, cause, kind, due, waiting, engaged_at AS "engagedAt"';

/** The brakes of a schema that are on, the oldest first: each is of those whose kinds its kind is among. */
export const readStopped = (dataSource: DataSource): Promise<Stopped[]> =>
  queryRows<Stopped>(
    dataSource,
    `SELECT ${STOPPED} FROM timeout_brakes WHERE released_at IS NULL ORDER BY engaged_at, id`,
  );

/**
 * Lets deadlines go on that these have stopped, in each process within a second or two; who said so, and why, is
 * kept. Answers with those that were still on.
 * @throws {TypeError} without an actor or a reason
 */
export async function releaseBrakes(
  dataSource: DataSource,
  ids: readonly string[],
  { actor, reason }: { readonly actor: string; readonly reason: string },
): Promise<Stopped[]> {
  if (!actor || !reason) throw new TypeError('Who lets deadlines go on, and why: both are kept');
  return queryRows<Stopped>(
    dataSource,
    `UPDATE timeout_brakes SET released_at = now(), released_by = $1, release_reason = $2
      WHERE released_at IS NULL AND id = ANY ($3) RETURNING ${STOPPED}`,
    [actor, reason, ids],
  );
}
