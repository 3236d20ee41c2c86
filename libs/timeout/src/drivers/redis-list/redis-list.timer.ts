import { redisTimer } from '../redis-timer';
import { REDIS_LIST_ABILITIES } from './redis-list.abilities';

export const timer = redisTimer({
  name: 'redis-list',
  summary: "Redisson's way, two lists and a sorted set in Redis",
  abilities: REDIS_LIST_ABILITIES,
  suffix: ':list',
  load: () =>
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    (require('./redis-list.driver') as typeof import('./redis-list.driver')).RedisListDriver,
});
