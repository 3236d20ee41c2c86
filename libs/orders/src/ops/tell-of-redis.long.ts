import { createMigratedDatabase } from '../../../../test/support/migrated-database';
import { openWorld, type World } from '../../../../test/support/world';
import { OwnCluster } from '../../../timeout/src/testing/own-cluster';
import { OwnSentinel } from '../../../timeout/src/testing/own-sentinel';
import { RedisMark } from './redis-mark';
import { RedisOwner } from './redis-owner';
import { TellOfRedis } from './tell-of-redis';

jest.setTimeout(90_000);

describe.each([
  ['a cluster', () => OwnCluster.start()],
  ['what sentinels know', () => OwnSentinel.start()],
])('two installations on %s', (_, start) => {
  let redis: { readonly url: string; remove(): Promise<void> };
  beforeAll(async () => (redis = await start()));
  afterAll(() => redis?.remove());

  it('are told of, and known to the doctor of the first', async () => {
    const databases = [await createMigratedDatabase(), await createMigratedDatabase()];
    const worlds: World[] = [];
    for (const { appUrl: databaseUrl } of databases) {
      const settings = { REDIS_URL: redis.url };
      const world = await openWorld({ ring: true, databaseUrl, settings });
      worlds.push(world);
      await world.get(TellOfRedis).told;
    }
    const alerts = worlds.map(({ told }) => told.filter(({ name }) => name === 'alert').length);
    const read = await Promise.all(worlds.map((world) => world.get(RedisOwner).read()));
    for (const one of worlds) await one.close();
    for (const one of databases) await one.drop();
    expect(alerts).toEqual([0, 1]);
    expect(read.map((owners) => owners?.last)).toEqual([read[1]?.us, read[1]?.us]);
    expect(read[0]?.us).not.toBe(read[1]?.us);
  });

  it('has one mark, whoever asks for it first', async () => {
    const marks = [1, 2, 3].map(() => new RedisMark(redis.url, 'lc'));
    const taken = await Promise.all(marks.map((mark) => mark.take()));
    for (const mark of marks) mark.close();
    expect(taken[0]).toMatch(/^\w{12}$/);
    expect(new Set([...taken, await marks[0]?.read()])).toEqual(new Set([taken[0]]));
  });
});
