import { OwnRedis } from '../../testing/own-redis';
import { describeTimerDriver } from '../driver.contract';
import { REDIS_LIST_ABILITIES } from './redis-list.abilities';
import { RedisListDriver } from './redis-list.driver';

let redis: OwnRedis;
beforeAll(async () => (redis = await OwnRedis.start()));
afterAll(() => redis?.remove());

describeTimerDriver('RedisListDriver', {
  create: ({ namespace, ...wish }) =>
    new RedisListDriver({ ...wish, redis: redis.url, prefix: `{${namespace}}` }),
  abilities: REDIS_LIST_ABILITIES,
  store: () => redis,
});
