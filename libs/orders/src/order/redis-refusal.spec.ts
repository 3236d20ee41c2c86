import { rm } from 'node:fs/promises';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { OwnRedis } from '../../../timeout/src/testing/own-redis';
import { examineRedis } from '../ops/doctor/examine-redis';
import { redisRefusal } from './redis-refusal';

it.each([
  ['OOM command not allowed when used memory > maxmemory', 'maxmemory'],
  ['WRONGPASS invalid username-password pair', 'REDIS_URL'],
  ['NOPERM this user has no permissions to run the command', 'ACL'],
  ['ERR DB index is out of range', 'REDIS_URL'],
  ['ERR max number of clients reached', 'maxclients'],
  ['DENIED Redis is running in protected mode because protected mode is enabled', 'requirepass'],
  ["READONLY You can't write against a read only replica", 'primary'],
])('%s is told, and how to mend it', (message, mend) => {
  const error = new Error('The alarm store did not take a call', { cause: new Error(message) });
  expect(redisRefusal(error)?.mend).toContain(mend);
});

it('a server that is away says nothing of it', () => {
  expect(redisRefusal(new Error('connect ECONNREFUSED'))).toBeUndefined();
});

describe('A Redis that cannot write its disk', () => {
  let world: World;
  let redis: OwnRedis;
  beforeAll(async () => {
    redis = await OwnRedis.start();
    world = await openWorld();
    const [, folder] = await redis.with(
      (client) => client.config('GET', 'dir') as Promise<[string, string]>,
    );
    await redis.with((client) => client.config('SET', 'save', '3600 1'));
    await rm(folder, { recursive: true });
    await until('saving has failed', async () => {
      const info = await redis.with(async (client) => {
        await client.bgsave('SCHEDULE').catch(() => undefined);
        return client.info('persistence');
      });
      return info.includes('rdb_last_bgsave_status:err');
    });
  });
  afterAll(async () => {
    await world?.close();
    await redis?.remove();
  });

  it('is told by Redis itself, and how to mend it', async () => {
    const refused = await redis.with((client) => client.set('a', 'b')).catch(redisRefusal);
    expect(refused).toMatchObject({ mend: expect.stringContaining('disk') as string });
  });

  it('is no server that the doctor would start', async () => {
    expect(await examineRedis({ ...world.config, REDIS_URL: redis.url })).toMatchObject([
      { name: 'reachable', state: 'unknown', fix: expect.stringContaining('disk') as string },
    ]);
  });
});
