import { describeTimerDriver } from '../driver.contract';
import { MEMORY_ABILITIES, MemoryDriver } from './memory.driver';

describeTimerDriver('MemoryDriver', {
  create: ({ databaseClock, onError }) => new MemoryDriver({ databaseClock, onError }),
  abilities: MEMORY_ABILITIES,
});
