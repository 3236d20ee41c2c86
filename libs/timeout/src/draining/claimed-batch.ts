import type { DueDeadline } from '../deadlines/deadline-handler';
import type { DeadlinePlace } from '../deadlines/deadline-range';
import { Uuids } from '../uuids';

/** Due deadlines that one batch has claimed, as they were read: taken apart only for who looks at each. */
export class ClaimedBatch {
  #each: readonly DueDeadline[] | undefined;

  constructor(
    readonly subjectIds: Uuids,
    /** When the first of them was due, and the last, in milliseconds since the epoch. */
    readonly between: { readonly oldestMs: number; readonly newestMs: number },
    private readonly takeApart: () => readonly DueDeadline[],
    /** In how many milliseconds the next one that was asked for is due; Infinity: there is none. */
    readonly nextInMs = Infinity,
    /** None of them is behind it in the order in which they are claimed; undefined: nobody has looked. */
    readonly last?: DeadlinePlace,
  ) {}

  static of(due: readonly DueDeadline[]): ClaimedBatch {
    let [oldestMs, newestMs] = [Infinity, -Infinity];
    for (const { dueAt } of due) {
      oldestMs = Math.min(oldestMs, dueAt.getTime());
      newestMs = Math.max(newestMs, dueAt.getTime());
    }
    const subjectIds = Uuids.of(due.map(({ subjectId }) => subjectId));
    return new ClaimedBatch(subjectIds, { oldestMs, newestMs }, () => due);
  }

  get count(): number {
    return this.subjectIds.count;
  }

  get each(): readonly DueDeadline[] {
    return (this.#each ??= this.takeApart());
  }

  /** How many of them were due before this instant, in milliseconds since the epoch. */
  dueBefore(ms: number): number {
    const { oldestMs, newestMs } = this.between;
    if (oldestMs >= ms) return 0;
    if (newestMs < ms) return this.count;
    return this.each.filter(({ dueAt }) => dueAt.getTime() < ms).length;
  }
}
