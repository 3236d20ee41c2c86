import type { TimerAbilities } from '../timer-driver';

/** Of drivers that tests make: they can do everything. */
export const TRUSTED_ABILITIES: TimerAbilities = {
  scope: 'shared',
  durable: true,
  dedupes: true,
  disarms: true,
  surveys: true,
  noticesLoss: true,
  precisionMs: 0,
};
