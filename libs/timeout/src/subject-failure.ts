import { isCanceledStatement, isInfrastructureError, sqlStateOf } from './database-errors';

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
export function failureBackoffMs(failures: number): number {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (failures - 1));
}
