import type { DeadlineHandler, DueDeadline } from './deadline-handler';
import type { DrainParts } from './drain-parts';

/** A claimed batch with the locks of its subjects. */
export interface LockedBatch {
  readonly mine: readonly DueDeadline[];
  /** Somebody else holds their subjects: due again in a moment. */
  readonly contended: readonly DueDeadline[];
  readonly giveBack: () => Promise<void>;
}

/**
 * Somebody else holds the subject: look again after as long as they had it already, so that the
 * waits grow, whoever looks; most are done soon, and those who died are outlived in a few steps.
 */
const CONTENDED_RETRY_FIRST_MS = 100;
const CONTENDED_RETRY_MAX_MS = 800;

/** Takes the locks that are free, and waits for none. */
export async function lockBatch(
  due: readonly DueDeadline[],
  handler: DeadlineHandler,
  { lock, clock, telemetry }: Pick<DrainParts, 'lock' | 'clock' | 'telemetry'>,
): Promise<LockedBatch> {
  const keyOf = (one: DueDeadline): string | undefined => handler.lockKey(one.subjectId);
  const keys = new Set<string>();
  for (const one of due) {
    const key = keyOf(one);
    if (key !== undefined) keys.add(key);
  }
  if (keys.size === 0) return { mine: due, contended: [], giveBack: async () => undefined };
  const held = await lock.acquireFree([...keys]);
  telemetry.locked(held.outcome);
  const giveBack = (): Promise<void> => held.release();
  // Nearly always: a burst need not look at each.
  if (held.keys.size === keys.size) return { mine: due, contended: [], giveBack };
  const isMine = (one: DueDeadline): boolean => {
    const key = keyOf(one);
    return key === undefined || held.keys.has(key);
  };
  const nowMs = clock.nowMs();
  const later = (one: DueDeadline): DueDeadline => {
    const busyForMs = held.busyForMs?.get(keyOf(one) ?? '') ?? 0;
    const waitMs = Math.min(CONTENDED_RETRY_MAX_MS, Math.max(CONTENDED_RETRY_FIRST_MS, busyForMs));
    return { ...one, dueAt: new Date(nowMs + waitMs) };
  };
  return {
    mine: due.filter(isMine),
    contended: due.filter((one) => !isMine(one)).map(later),
    giveBack,
  };
}
