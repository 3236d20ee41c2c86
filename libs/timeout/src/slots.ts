import type { Alarm } from './timer-driver';

/** How alarms stand for deadlines: one for each slot of so many milliseconds, or one each. */
export type Granularity = number | 'subject';

/** How long after an alarm's instant what it is for may come due: 0 where each deadline has its own. */
export const slotMsOf = (granularity: Granularity): number =>
  granularity === 'subject' ? 0 : granularity;

/** When the slot ends that a deadline is in; what is due just as one begins is in the slot before. */
export const slotEndMs = (dueAt: Date, slotMs: number): number =>
  Math.ceil(dueAt.getTime() / slotMs) * slotMs;

/** The same of `due_at`; how long slots are is SQL, too. */
export const slotEndInSql = (slotMs: string): string =>
  `ceil(extract(epoch FROM due_at) * 1000 / ${slotMs})::bigint * ${slotMs}`;

/** Of the slot of `slotMs` that ends then. */
export function slotAlarm(endMs: number, slotMs: number): Alarm {
  return { id: `slot-${endMs}`, at: new Date(endMs - slotMs) };
}
