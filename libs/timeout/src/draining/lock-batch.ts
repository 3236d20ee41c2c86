import { ClaimedBatch } from './claimed-batch';
import type { DeadlineHandler, DueDeadline } from '../deadlines/deadline-handler';
import type { DrainParts } from './drain-parts';
import { type Held, isLockOfIds, type Lock } from '../lock';
import type { Transaction } from '../database/transaction';

/** A claimed batch with the locks of its subjects. */
export interface LockedBatch {
  readonly mine: ClaimedBatch;
  /** Somebody else holds their subjects: due again in a moment. */
  readonly contended: readonly DueDeadline[];
  /** False where the locks' store was away, or there is none. */
  readonly isLocked: boolean;
  readonly giveBack: () => Promise<void>;
}

/**
 * Somebody else holds the subject: look again after as long as they had it already, so that the
 * waits grow, whoever looks; most are done soon, and those who died are outlived in a few steps.
 */
const CONTENDED_RETRY_FIRST_MS = 100;
const CONTENDED_RETRY_MAX_MS = 800;

type KeyOf = (subjectId: string) => string | undefined;

/** Takes the locks that are free, and waits for none. */
export async function lockBatch(
  claimed: ClaimedBatch,
  handler: Pick<DeadlineHandler, 'lockKey' | 'lockKeys' | 'whole'>,
  { lock, clock, telemetry }: Pick<DrainParts, 'lock' | 'clock' | 'telemetry'>,
  tx: Transaction,
): Promise<LockedBatch> {
  const keyOf = await keysOf(claimed, handler, tx);
  const held = await acquire(lock, claimed, handler.whole, keyOf);
  if (!held) {
    return { mine: claimed, contended: [], isLocked: true, giveBack: async () => undefined };
  }
  telemetry.locked(held.outcome);
  const giveBack = (): Promise<void> => held.release();
  const isLocked = held.outcome !== 'degraded' && !lock.excludesNobody;
  // Nearly always: a burst need not look at each.
  if (held.outcome === 'held') return { mine: claimed, contended: [], isLocked, giveBack };
  const nowMs = clock.nowMs();
  const mine: DueDeadline[] = [];
  const contended: DueDeadline[] = [];
  for (const one of claimed.each) {
    const key = keyOf(one.subjectId);
    if (key === undefined || held.keys.has(key)) {
      mine.push(one);
      continue;
    }
    const busyForMs = held.busyForMs?.get(key) ?? 0;
    const waitMs = Math.min(CONTENDED_RETRY_MAX_MS, Math.max(CONTENDED_RETRY_FIRST_MS, busyForMs));
    contended.push({ ...one, dueAt: new Date(nowMs + waitMs) });
  }
  return { mine: ClaimedBatch.of(mine), contended, isLocked, giveBack };
}

async function keysOf(
  claimed: ClaimedBatch,
  handler: Pick<DeadlineHandler, 'lockKey' | 'lockKeys'>,
  tx: Transaction,
): Promise<KeyOf> {
  if (!handler.lockKeys) return (subjectId) => handler.lockKey(subjectId);
  const ids = claimed.each.map(({ subjectId }) => subjectId);
  const keys = await handler.lockKeys(ids, tx);
  return (subjectId) => keys.get(subjectId);
}

/** Undefined where no key is needed. */
async function acquire(
  lock: Lock,
  claimed: ClaimedBatch,
  whole: DeadlineHandler['whole'],
  keyOf: KeyOf,
): Promise<Held | undefined> {
  if (whole && isLockOfIds(lock)) return lock.acquireFreeOf(whole.lockPrefix, claimed.subjectIds);
  const keys = new Set<string>();
  for (const { subjectId } of claimed.each) {
    const key = keyOf(subjectId);
    if (key !== undefined) keys.add(key);
  }
  return keys.size === 0 ? undefined : lock.acquireFree([...keys]);
}
