import { takeRedisDatabase } from '../../../../../test/support/redis';
import { describeTimerDriver } from '../driver.contract';
import { REDIS_LIST_ABILITIES } from './redis-list.abilities';
import { RedisListDriver } from './redis-list.driver';

let redis: string;
beforeAll(async () => (redis = await takeRedisDatabase()));

describeTimerDriver(
  'RedisListDriver',
  {
    create: ({ namespace, ...wish }) =>
      new RedisListDriver({ ...wish, redis, prefix: `{${namespace}}` }),
    abilities: REDIS_LIST_ABILITIES,
  },
  'essentials',
);
