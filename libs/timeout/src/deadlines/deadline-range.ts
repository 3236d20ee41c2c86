import { instantParam } from '../database/instant-param';

/** A place in the order in which a kind's deadlines are claimed. */
export interface DeadlinePlace {
  readonly dueAt: Date;
  readonly subjectId: string;
}

/** A kind's deadlines behind the one place, up to the other and with it. */
export interface DeadlineRange {
  readonly after: DeadlinePlace;
  readonly until: DeadlinePlace;
}

/** A range as SQL; its parameters begin at `$first`: {@link rangeParams}. */
export function inRange(first: number): string {
  const [afterAt, afterId, untilAt, untilId] = [0, 1, 2, 3].map((n) => `$${first + n}`);
  return `(due_at, subject_id) > (${afterAt}::timestamptz, ${afterId}::uuid)
     AND (due_at, subject_id) <= (${untilAt}::timestamptz, ${untilId}::uuid)`;
}

export function rangeParams({ after, until }: DeadlineRange): unknown[] {
  const [afterAt, untilAt] = [after, until].map(({ dueAt }) => instantParam(dueAt.getTime()));
  return [afterAt, after.subjectId, untilAt, until.subjectId];
}
