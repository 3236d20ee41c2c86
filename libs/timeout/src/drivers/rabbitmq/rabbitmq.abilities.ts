import type { TimerAbilities } from '../../timer-driver';

export const RABBITMQ_ABILITIES: TimerAbilities = {
  scope: 'shared',
  durable: true,
  // A queue takes every message that it is given, gives none back by its id, and lists none.
  dedupes: false,
  disarms: false,
  surveys: false,
  noticesLoss: true,
  // The broker brings an alarm within its last second; that one is waited for here.
  precisionMs: 50,
};
