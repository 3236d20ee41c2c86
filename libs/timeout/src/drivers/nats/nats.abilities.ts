import type { TimerAbilities } from '../../timer-driver';

export const NATS_ABILITIES: TimerAbilities = {
  scope: 'shared',
  durable: true,
  dedupes: true,
  disarms: true,
  surveys: true,
  noticesLoss: true,
  precisionMs: 50,
};
