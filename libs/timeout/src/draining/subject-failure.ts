import { backoffMs } from '../backoff';
import { CommitUnknownError } from '../database/commit';
import { isCanceledStatement, isInfrastructureError } from '../database/database-errors';
import type { DueDeadline } from '../deadlines/deadline-handler';
import { putBackDeadlines } from '../deadlines/deadlines';
import type { DrainParts } from './drain-parts';
import type { Failed } from './handled-apart';
import { holdDeadlines } from '../deadlines/held-deadlines';
import { ConnectionLostError } from '../database/in-transaction';
import { isOfOwnConnection } from '../database/own-connection';
import { storableText } from '../database/storable-text';
import type { Transaction } from '../database/transaction';

/** The count is a small number in the table. */
const MOST_COUNTED = 1_000;
const UUIDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * True where the others of a batch that was claimed may succeed; false for a database that is away
 * or full, by what our connection says: a handler asks other servers too, databases among them, and one
 * subject's may be away. A canceled statement counts: half may do in time. So does somebody's lock: it is on some rows.
 */
export function isSubjectsFault(error: unknown): boolean {
  return !isOfDatabase(error) || !isInfrastructureError(error) || isCanceledStatement(error);
}

function isOfDatabase(error: unknown): boolean {
  const isLost = [ConnectionLostError, CommitUnknownError].some((kind) => error instanceof kind);
  return isLost || isOfOwnConnection(error);
}

/**
 * The one of these that an error names by its id, as Postgres does in the detail of a broken
 * constraint. Undefined where it names none of them or several: then it says nothing.
 */
export function subjectNamedBy(
  error: unknown,
  piece: readonly DueDeadline[],
): DueDeadline | undefined {
  const { driverError } = Object(error) as { driverError?: { detail?: unknown; where?: unknown } };
  const text = [error, driverError?.detail, driverError?.where].map(String).join(' ');
  const ids = new Set(text.toLowerCase().match(UUIDS));
  if (ids.size === 0) return undefined;
  const named = piece.filter(({ subjectId }) => ids.has(subjectId));
  return named.length === 1 ? named[0] : undefined;
}

/**
 * Gives back deadlines whose handling failed, to be tried again later and later, and holds those
 * for an operator that have failed `maxFailures` times and that `mayHold`. The caller has claimed
 * them in `tx`.
 */
export async function setAside(
  tx: Transaction,
  failed: readonly Failed[],
  { alarms, clock, telemetry }: Pick<DrainParts, 'alarms' | 'clock' | 'telemetry'>,
  { maxFailures, mayHold }: { maxFailures: number; mayHold: (failures: number) => boolean },
): Promise<void> {
  const later: DueDeadline[] = [];
  const held: Failed[] = [];
  for (const one of failed) {
    const failures = Math.min(one.due.failures + 1, MOST_COUNTED);
    if (failures >= maxFailures && mayHold(failures)) held.push(one);
    else {
      const dueAt = new Date(clock.nowMs() + backoffMs(failures));
      later.push({ ...one.due, dueAt, failures });
    }
  }
  await putBackDeadlines(tx, later);
  await holdDeadlines(
    tx,
    // A message may quote what could not be read.
    held.map(({ due, error }) => ({ due, error: storableText(String(error)) })),
  );
  tx.afterCommit(() => {
    alarms.ensure(later);
    for (const { due, error } of held) telemetry.deadlineHeld(due.kind, due.subjectId, error);
  });
}
