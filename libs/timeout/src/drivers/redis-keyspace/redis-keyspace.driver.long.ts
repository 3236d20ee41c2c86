import { OwnRedis } from '../../testing/own-redis';
import { describeTimerDriver } from '../driver.contract';
import { REDIS_KEYSPACE_ABILITIES } from './redis-keyspace.abilities';
import { RedisKeyspaceDriver } from './redis-keyspace.driver';

let redis: OwnRedis;
beforeAll(async () => (redis = await OwnRedis.start()));
afterAll(() => redis?.remove());

// Without its store's faults: what expires meanwhile is lost, which is why it claims no durability.
describeTimerDriver('RedisKeyspaceDriver', {
  create: ({ namespace, ...wish }) =>
    new RedisKeyspaceDriver({ ...wish, redis: redis.url, prefix: `{${namespace}}` }),
  abilities: REDIS_KEYSPACE_ABILITIES,
});
