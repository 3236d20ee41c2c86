import type { TimerAbilities } from '../../timer-driver';

export const POSTGRES_ABILITIES: TimerAbilities = {
  scope: 'shared',
  durable: true,
  dedupes: true,
  disarms: true,
  surveys: true,
  noticesLoss: true,
  // Where notifications come through it is a few milliseconds; behind PgBouncer heads are polled.
  precisionMs: 250,
};
