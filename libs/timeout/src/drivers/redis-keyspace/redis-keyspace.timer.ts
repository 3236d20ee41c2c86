import { redisTimer } from '../redis-timer';
import { REDIS_KEYSPACE_ABILITIES } from './redis-keyspace.abilities';

export const timer = redisTimer({
  name: 'redis-keyspace',
  summary: 'keys in Redis that expire, and their notifications',
  abilities: REDIS_KEYSPACE_ABILITIES,
  suffix: ':keyspace',
  load: () =>
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    (require('./redis-keyspace.driver') as typeof import('./redis-keyspace.driver'))
      .RedisKeyspaceDriver,
});
