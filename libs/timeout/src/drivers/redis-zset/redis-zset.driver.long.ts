import { OwnRedis } from '../../testing/own-redis';
import { describeTimerDriver } from '../driver.contract';
import { REDIS_ZSET_ABILITIES } from './redis-zset.abilities';
import { RedisZsetDriver } from './redis-zset.driver';

let redis: OwnRedis;
beforeAll(async () => (redis = await OwnRedis.start()));
afterAll(() => redis?.remove());

describeTimerDriver('RedisZsetDriver', {
  create: ({ namespace, ...wish }) =>
    new RedisZsetDriver({ ...wish, redis: redis.url, prefix: `{${namespace}}` }),
  abilities: REDIS_ZSET_ABILITIES,
  store: () => redis,
});
