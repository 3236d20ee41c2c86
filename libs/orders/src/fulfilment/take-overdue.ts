import type { DueDeadline, Transaction } from '@app/timeout';
import { deadlineOf, isOverdue } from '../order/deadline-table';

/** Due deadlines of orders that are overdue indeed. */
interface Overdue {
  /** Their rows are held by this transaction. */
  readonly taken: readonly DueDeadline[];
  /** To be put back: somebody is changing their orders at this moment, or these are not due yet. */
  readonly back: readonly DueDeadline[];
}

/**
 * Takes the rows of those that still have this status and are overdue in it. Waits for nobody: one
 * order that somebody holds must not keep the others of its batch.
 */
export async function takeOverdue(
  tx: Transaction,
  status: 'paid' | 'shipped',
  due: readonly DueDeadline[],
): Promise<Overdue> {
  const waiting = `id = ANY ($1::uuid[]) AND status = '${status}'`;
  const rows = await tx.rows<{ id: string }>(
    `SELECT id FROM orders WHERE ${waiting} AND ${isOverdue(status)} FOR NO KEY UPDATE SKIP LOCKED`,
    [due.map(({ subjectId }) => subjectId)],
  );
  const ids = new Set(rows.map(({ id }) => id));
  const taken = due.filter(({ subjectId }) => ids.has(subjectId));
  const rest = due.filter(({ subjectId }) => !ids.has(subjectId));
  if (rest.length === 0) return { taken, back: [] };
  const dueAt = deadlineOf(status)?.dueAt;
  const again = await tx.rows<{ id: string; at: Date }>(
    `SELECT id, greatest(${dueAt}, now() + interval '1 second') AS at
       FROM orders WHERE ${waiting} AND ${dueAt} IS NOT NULL`,
    [rest.map(({ subjectId }) => subjectId)],
  );
  return { taken, back: putOff(rest, new Map(again.map(({ id, at }) => [id, at]))) };
}

/** Those of them that are to be looked at again, by when that is. */
export function putOff(
  due: readonly DueDeadline[],
  again: ReadonlyMap<string, Date>,
): DueDeadline[] {
  return due.flatMap((one) => {
    const dueAt = again.get(one.subjectId);
    return dueAt ? [{ ...one, dueAt }] : [];
  });
}
