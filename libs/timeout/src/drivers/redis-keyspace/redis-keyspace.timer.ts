import type { RedisAddress } from '../../redis';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { REDIS_KEYSPACE_ABILITIES } from './redis-keyspace.abilities';

export const timer: TimerDriverKind = {
  name: 'redis-keyspace',
  summary: 'keys in Redis that expire, and their notifications',
  abilities: REDIS_KEYSPACE_ABILITIES,
  needs: ['REDIS_URL'],
  async create({ settings, prefix: installation, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const module = require('./redis-keyspace.driver') as typeof import('./redis-keyspace.driver');
    const redis = settings.REDIS_URL as RedisAddress;
    const prefix = `{${installation}:alarms}:keyspace`;
    return new module.RedisKeyspaceDriver({ redis, prefix, databaseClock, onError });
  },
};
