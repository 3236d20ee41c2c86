import type { DueDeadline, TimeoutService, Transaction } from '@app/timeout';
import { backoffMs } from './backoff';

/**
 * Arms the next attempt of work that is about to be tried outside the transaction. Whatever
 * happens to this process, the work comes back by that deadline; when it is finished by then, the
 * deadline fires once, changes nothing and is gone.
 */
export async function armNextAttempts(
  tx: Transaction,
  timeouts: TimeoutService,
  due: readonly DueDeadline[],
): Promise<void> {
  if (due.length === 0) return;
  const [clock] = await tx.rows<{ now: Date }>('SELECT now() AS now');
  const nowMs = (clock as { now: Date }).now.getTime();
  await timeouts.arm(
    tx,
    due.map(({ kind, subjectId, version }) => ({
      kind,
      subjectId,
      version: version + 1,
      dueAt: new Date(nowMs + backoffMs(version)),
    })),
  );
}

/** Runs `work` over `items`, at most `limit` at once; one that rejects does not stop the others. */
export async function eachLimited<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const failures: unknown[] = [];
  const runner = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await work(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, runner));
  if (failures.length > 0) throw new AggregateError(failures, String(failures[0]));
}
