import type { TimerAbilities } from '../../timer-driver';

export const WHEEL_ABILITIES: TimerAbilities = {
  scope: 'process',
  durable: true,
  dedupes: true,
  disarms: true,
  surveys: true,
  noticesLoss: true,
  precisionMs: 10,
};
