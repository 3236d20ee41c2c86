import type { DataSource } from 'typeorm';
import type { Deadline } from '../deadlines/deadline-handler';
import { deadlinesBetween, slotsBetween } from '../deadlines/deadlines';
import { type Granularity, slotAlarm, slotEndMs } from '../slots';
import type { Alarm } from '../timer-driver';

/** Deadlines read from Postgres at once where there may be hundreds of thousands. */
const PAGE = 1_000;
/**
 * Alarms armed at once. A store that takes a second and a half for every fifty, as a busy RocketMQ may, has
 * answered in half the time that a call has.
 */
const ARMED_AT_ONCE = 250;

/**
 * The alarm whose ring covers this deadline. Of a deadline's own it rings when that is due; of a slot it
 * rings as the slot begins, and who hears it looks whenever something of the slot is due.
 */
export function alarmFor(deadline: Deadline, granularity: Granularity): Alarm {
  if (granularity === 'subject') {
    const { kind, subjectId, version, dueAt } = deadline;
    // The instant is part of it: one that was put back must not be taken for its old alarm.
    return { id: `${kind}-${subjectId}-${version}-${dueAt.getTime()}`, at: dueAt };
  }
  return slotAlarm(slotEndMs(deadline.dueAt, granularity), granularity);
}

/** For arming many: between two pages whoever arms can be told to end. */
export function* inPages(alarms: readonly Alarm[]): Generator<readonly Alarm[]> {
  for (let start = 0; start < alarms.length; start += ARMED_AT_ONCE) {
    yield alarms.slice(start, start + ARMED_AT_ONCE);
  }
}

/** The alarms of all slots of `slotMs` in which something is due, after one instant and until another. */
export async function slotAlarms(
  dataSource: DataSource,
  kinds: readonly string[],
  afterMs: number,
  untilMs: number,
  slotMs: number,
): Promise<Alarm[]> {
  const [after, until] = [new Date(afterMs), new Date(untilMs)];
  const ends = await slotsBetween(dataSource, kinds, after, until, slotMs);
  return ends.map((endMs) => slotAlarm(endMs, slotMs));
}

/** The alarms of single deadlines that are due then, page by page. */
export async function* singleAlarms(
  dataSource: DataSource,
  kinds: readonly string[],
  afterMs: number,
  untilMs: number,
): AsyncGenerator<readonly Alarm[]> {
  const [after, until] = [new Date(afterMs), new Date(untilMs)];
  for (const kind of kinds) {
    for await (const page of deadlinesBetween(dataSource, kind, after, until, PAGE)) {
      yield* inPages(page.map((deadline) => alarmFor(deadline, 'subject')));
    }
  }
}
