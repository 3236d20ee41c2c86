import type { TimerDriver } from './timer-driver';

/** Something was asked that this installation's timer driver, or this process of it, cannot do. */
export class TimerAbilityError extends Error {
  readonly code = 'timer_ability';
}

/**
 * True when alarms armed by this process would ring: a `process` driver rings where it was armed,
 * and there only if that process rings. Its workers arm from Postgres what others have placed.
 */
export function armsAlarms({ abilities }: Pick<TimerDriver, 'abilities'>, rings: boolean): boolean {
  return abilities.scope === 'shared' || rings;
}

/** Why the alarms cannot be looked at from this process; null when they can. */
export function unseenAlarms({ name, abilities }: TimerDriver, rings: boolean): string | null {
  if (!abilities.surveys) return `alarms of the driver ${name} cannot be listed`;
  if (abilities.scope === 'process' && !rings) {
    return `alarms of the driver ${name} are in the memory of each worker`;
  }
  return null;
}
