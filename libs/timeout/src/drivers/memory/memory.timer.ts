import type { TimerDriverKind } from '../../timer-driver-kind';
import { MEMORY_ABILITIES, MemoryDriver } from './memory.driver';

export const timer: TimerDriverKind = {
  name: 'memory',
  summary: 'a binary heap in each worker',
  abilities: MEMORY_ABILITIES,
  needs: [],
  create: async ({ databaseClock, onError }) => new MemoryDriver({ databaseClock, onError }),
};
