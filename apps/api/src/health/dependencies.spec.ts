import type { Config } from '@app/orders';
import { Cluster, Redis } from 'ioredis';
import type { DataSource } from 'typeorm';
import { Dependencies } from './dependencies';

const NOBODY = '127.0.0.1:1';

it.each([
  ['a server', `redis://${NOBODY}`],
  ['a cluster', `redis://${NOBODY},127.0.0.1:2`],
  ['sentinels', `redis+sentinel://${NOBODY}/main`],
])('leaves no question to %s that is away', async (_, REDIS_URL) => {
  const pings = [jest.spyOn(Redis.prototype, 'ping'), jest.spyOn(Cluster.prototype, 'ping')];
  const postgres = { query: async () => [] } as unknown as DataSource;
  const patience = { postgresMs: 1_000, redisMs: 300 } as ConstructorParameters<
    typeof Dependencies
  >[2];
  const dependencies = new Dependencies(postgres, { REDIS_URL } as Config, patience);
  try {
    for (let times = 0; times < 3; times++) {
      expect(await dependencies.ask()).toEqual({ postgres: 'up', redis: 'down' });
    }
    for (const ping of pings) expect(ping).not.toHaveBeenCalled();
  } finally {
    dependencies.onApplicationShutdown();
    for (const ping of pings) ping.mockRestore();
  }
});
