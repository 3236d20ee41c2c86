import { takeRedisDatabase } from '../../../../../test/support/redis';
import { describeTimerDriver } from '../driver.contract';
import { REDIS_ZSET_ABILITIES } from './redis-zset.abilities';
import { RedisZsetDriver } from './redis-zset.driver';

let redis: string;
beforeAll(async () => (redis = await takeRedisDatabase()));

describeTimerDriver(
  'RedisZsetDriver',
  {
    create: ({ namespace, ...wish }) =>
      new RedisZsetDriver({ ...wish, redis, prefix: `{${namespace}}` }),
    abilities: REDIS_ZSET_ABILITIES,
  },
  'essentials',
);
