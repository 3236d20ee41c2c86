import type { TimerAbilities } from '../../timer-driver';

export const ROCKETMQ_ABILITIES: TimerAbilities = {
  scope: 'shared',
  durable: true,
  // A topic takes every message that it is given, lists none, and marks nothing that would be lost
  // with it; what one process has armed only that one can recall.
  dedupes: false,
  disarms: true,
  surveys: false,
  noticesLoss: false,
  // The broker counts in whole seconds and brings an alarm early; the rest is waited for here.
  precisionMs: 100,
};
