import { alarmFor } from './alarm-for';
import type { Deadline } from '../deadlines/deadline-handler';
import type { Granularity } from '../slots';
import type { Alarm, TimerDriver } from '../timer-driver';
import { TimerAbilityError, unseenAlarms } from '../timer-limits';

/**
 * The alarm that the driver's store holds for this deadline. Reads the store through.
 * @param rings whether this process does
 * @throws {TimerAbilityError} when the alarms cannot be seen from this process
 */
export async function findAlarm(
  driver: TimerDriver,
  { granularity, rings }: { readonly granularity: Granularity; readonly rings: boolean },
  deadline: Deadline,
): Promise<Alarm | undefined> {
  const why = unseenAlarms(driver, rings);
  if (why !== null) throw new TimerAbilityError(why);
  const { id } = alarmFor(deadline, granularity);
  const survey = await driver.survey();
  for await (const alarm of survey.alarms()) if (alarm.id === id) return alarm;
  return undefined;
}
