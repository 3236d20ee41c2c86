import type { RedisAddress } from '../../redis';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { REDIS_ZSET_ABILITIES } from './redis-zset.abilities';

export const timer: TimerDriverKind = {
  name: 'redis-zset',
  summary: 'a sorted set in Redis, leased by a script',
  abilities: REDIS_ZSET_ABILITIES,
  needs: ['REDIS_URL'],
  async create({ settings, prefix: installation, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const module = require('./redis-zset.driver') as typeof import('./redis-zset.driver');
    const redis = settings.REDIS_URL as RedisAddress;
    const prefix = `{${installation}:alarms}:zset`;
    return new module.RedisZsetDriver({ redis, prefix, databaseClock, onError });
  },
};
