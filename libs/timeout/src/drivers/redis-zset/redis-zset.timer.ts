import { redisTimer } from '../redis-timer';
import { REDIS_ZSET_ABILITIES } from './redis-zset.abilities';

export const timer = redisTimer({
  name: 'redis-zset',
  summary: 'a sorted set in Redis, leased by a script',
  abilities: REDIS_ZSET_ABILITIES,
  suffix: ':zset',
  load: () =>
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    (require('./redis-zset.driver') as typeof import('./redis-zset.driver')).RedisZsetDriver,
});
