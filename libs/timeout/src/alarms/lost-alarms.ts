import { inPages } from './alarm-for';
import type { StoreCalls } from './answered-calls';
import type { Alarm, Survey } from '../timer-driver';
import type { TimerStoreHealth } from './timer-store-health';

type Pages = AsyncIterable<readonly Alarm[]> | Iterable<readonly Alarm[]>;

/** Arms those of `expected` that the store does not hold, and says how many until `signal` ended it. */
export async function armLost(
  expected: Pages,
  survey: Survey,
  driver: StoreCalls,
  health: TimerStoreHealth,
  signal?: AbortSignal,
): Promise<number> {
  const lost = await lostAlarms(expected, survey, signal);
  if (lost.length > 0) health.become(false, `the store has lost ${lost.length} alarms`);
  let armed = 0;
  for (const alarms of inPages(lost)) {
    if (signal?.aborted) break;
    await armAnew(alarms, driver);
    armed += alarms.length;
  }
  return armed;
}

/**
 * Arms what a survey has missed. A store that has lost a part may have kept what makes it take an id for
 * one that is armed already, as BullMQ does a job that is in no list: that goes first.
 */
export async function armAnew(alarms: readonly Alarm[], driver: StoreCalls): Promise<void> {
  await driver.disarm(alarms.map(({ id }) => id));
  await driver.arm(alarms);
}

/** None where `signal` ends it: of what was not compared to its end nobody knows what is lost. */
async function lostAlarms(
  expected: Pages,
  survey: Survey,
  signal: AbortSignal | undefined,
): Promise<Alarm[]> {
  const lost = new Map<string, Alarm>();
  for await (const page of expected) {
    if (signal?.aborted) return [];
    for (const alarm of page) lost.set(alarm.id, alarm);
  }
  for await (const { id } of survey.alarms()) {
    if (signal?.aborted) return [];
    lost.delete(id);
  }
  return [...lost.values()];
}
