import type { TimerAbilities } from '../../timer-driver';

export const REDIS_KEYSPACE_ABILITIES: TimerAbilities = {
  scope: 'shared',
  // What expires while nobody listens is heard of by nobody.
  durable: false,
  dedupes: true,
  disarms: true,
  surveys: true,
  noticesLoss: true,
  // With few keys. Redis looks for what has expired by chance: among many far ones it takes seconds.
  precisionMs: 500,
};
