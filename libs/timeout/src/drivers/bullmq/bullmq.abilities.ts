import type { TimerAbilities } from '../../timer-driver';

export const BULLMQ_ABILITIES: TimerAbilities = {
  scope: 'shared',
  durable: true,
  dedupes: true,
  disarms: true,
  surveys: true,
  noticesLoss: true,
  // BullMQ blocks in Redis until the head is due, and Redis ends that with its own ticks (`hz`).
  precisionMs: 100,
};
