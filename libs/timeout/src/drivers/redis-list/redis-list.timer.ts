import type { RedisAddress } from '../../redis';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { REDIS_LIST_ABILITIES } from './redis-list.abilities';

export const timer: TimerDriverKind = {
  name: 'redis-list',
  summary: "Redisson's way, two lists and a sorted set in Redis",
  abilities: REDIS_LIST_ABILITIES,
  needs: ['REDIS_URL'],
  async create({ settings, prefix: installation, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const module = require('./redis-list.driver') as typeof import('./redis-list.driver');
    const redis = settings.REDIS_URL as RedisAddress;
    const prefix = `{${installation}:alarms}:list`;
    return new module.RedisListDriver({ redis, prefix, databaseClock, onError });
  },
};
