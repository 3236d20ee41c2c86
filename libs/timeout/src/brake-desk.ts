import type { DataSource } from 'typeorm';
import type { BrakeFacts } from './brake';
import { queryRows } from './query-rows';

/** Why deadlines stand still, and since when. */
export interface Stopped extends BrakeFacts {
  readonly id: string;
  readonly engagedAt: Date;
}

const STOPPED = 'id, cause, kind, due, waiting, engaged_at AS "engagedAt"';

/** Undefined while the brake is off. */
export async function readStopped(dataSource: DataSource): Promise<Stopped | undefined> {
  const [row] = await queryRows<Stopped>(
    dataSource,
    `SELECT ${STOPPED} FROM timeout_brakes WHERE released_at IS NULL`,
  );
  return row;
}

/**
 * Lets deadlines go on, in each process within a second or two; who said so, and why, is kept. Undefined
 * where none stood still. `seen`: what was looked at, null for nothing; one that is on since then stays on.
 * @throws {TypeError} without an actor or a reason
 */
export async function releaseBrake(
  dataSource: DataSource,
  { actor, reason }: { readonly actor: string; readonly reason: string },
  seen?: Pick<Stopped, 'id'> | null,
): Promise<Stopped | undefined> {
  if (!actor || !reason) throw new TypeError('Who lets deadlines go on, and why: both are kept');
  const [row] = await queryRows<Stopped>(
    dataSource,
    `UPDATE timeout_brakes SET released_at = now(), released_by = $1, release_reason = $2
      WHERE released_at IS NULL AND ($3::text IS NULL OR id::text = $3) RETURNING ${STOPPED}`,
    [actor, reason, seen === undefined ? null : (seen?.id ?? '')],
  );
  return row;
}
