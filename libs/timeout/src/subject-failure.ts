import { isCanceledStatement, isInfrastructureError, sqlStateOf } from './database-errors';
import type { DueDeadline } from './deadline-handler';
import { claimExactly, holdDeadline, putBackDeadlines } from './deadlines';
import type { DrainParts } from './drain-parts';
import { inTransaction } from './transaction';

const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = 60_000;
/** Conflicts with others, and locks of others: the whole batch may well succeed later. */
const CONFLICT_CLASSES = /^(40|55)/;

/** False for a database that is away or full. A canceled statement counts: half may do in time. */
export function isSubjectsFault(error: unknown): boolean {
  const isEverybodys = isInfrastructureError(error) && !isCanceledStatement(error);
  return !isEverybodys && !CONFLICT_CLASSES.test(sqlStateOf(error) ?? '');
}

/** How long a subject waits that has failed so often: one second, and twice as long each time. */
function failureBackoffMs(failures: number): number {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (failures - 1));
}

/**
 * Gives back a deadline whose handling failed, to be tried again later and later, and holds it for
 * an operator after `maxFailures`. False when somebody else has the deadline by now.
 */
export async function setAside(
  { dataSource, alarms, clock, telemetry }: DrainParts,
  poisoned: DueDeadline,
  error: unknown,
  maxFailures: number,
): Promise<boolean> {
  return inTransaction(dataSource, async (tx) => {
    if (!(await claimExactly(tx, poisoned))) return false;
    const failures = poisoned.failures + 1;
    if (failures >= maxFailures) {
      await holdDeadline(tx, poisoned, String(error));
      tx.afterCommit(() => telemetry.deadlineHeld(poisoned.kind, poisoned.subjectId, error));
    } else {
      const dueAt = new Date(clock.nowMs() + failureBackoffMs(failures));
      const later = { ...poisoned, dueAt, failures };
      await putBackDeadlines(tx, [later]);
      tx.afterCommit(() => alarms.ensure([later]));
    }
    return true;
  });
}
