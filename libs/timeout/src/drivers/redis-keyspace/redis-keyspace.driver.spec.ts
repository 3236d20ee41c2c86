import { takeRedisDatabase } from '../../../../../test/support/redis';
import { describeTimerDriver } from '../driver.contract';
import { REDIS_KEYSPACE_ABILITIES } from './redis-keyspace.abilities';
import { RedisKeyspaceDriver } from './redis-keyspace.driver';

let redis: string;
beforeAll(async () => (redis = await takeRedisDatabase()));

describeTimerDriver(
  'RedisKeyspaceDriver',
  {
    create: ({ namespace, ...wish }) =>
      new RedisKeyspaceDriver({
        ...wish,
        redis,
        prefix: `{${namespace}}`,
      }),
    abilities: REDIS_KEYSPACE_ABILITIES,
  },
  'essentials',
);
