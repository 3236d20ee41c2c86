import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { takeRedisDatabase } from '../../../../../test/support/redis';
import { until } from '../../../../../test/support/until';
import { systemClock } from '../../clock';
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

describe('RedisKeyspaceDriver', () => {
  it('opens no connection any more when it is stopped while it starts', async () => {
    // Says nothing: what it is asked as the driver starts takes as long as that waits.
    const silent = createServer((socket) => void socket.resume().on('error', () => undefined));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const driver = new RedisKeyspaceDriver({
      redis: `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      prefix: '{stopped}',
      databaseClock: systemClock,
      onError: () => undefined,
      callTimeoutMs: 100,
    });
    const starting = driver.start(async () => undefined);
    await driver.stop();
    await starting;
    const isAlone = (): Promise<boolean> =>
      new Promise((resolve) => silent.getConnections((_, count) => resolve(count === 0)));
    await until('nobody is connected', isAlone);
    silent.close();
  });
});
