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
        database: Number(new URL(redis).pathname.slice(1)),
      }),
    abilities: REDIS_KEYSPACE_ABILITIES,
  },
  'essentials',
);
