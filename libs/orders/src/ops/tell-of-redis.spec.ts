import { Redis } from 'ioredis';
import { Client } from 'pg';
import { createMigratedDatabase } from '../../../../test/support/migrated-database';
import type { TestDatabase } from '../../../../test/support/database';
import { takeRedisDatabase } from '../../../../test/support/redis';
import { openWorld, type World } from '../../../../test/support/world';
import { OwnRedis } from '../../../timeout/src/testing/own-redis';
import { examineRedisOwner } from './doctor/examine-redis-owner';
import { RedisOwner } from './redis-owner';
import { TellOfRedis } from './tell-of-redis';

const KEY = '{lc}:installation';

describe('The Redis of an installation', () => {
  const databases: TestDatabase[] = [];
  const worlds: World[] = [];
  let url: string;
  let redis: Redis;
  beforeEach(async () => {
    url = await takeRedisDatabase();
    redis = new Redis(url);
  });
  afterEach(async () => {
    for (const one of worlds.splice(0)) await one.close();
    for (const one of databases.splice(0)) await one.drop();
    await redis.quit();
  });

  const database = async (): Promise<TestDatabase> => {
    const made = await createMigratedDatabase();
    databases.push(made);
    return made;
  };
  /** A process that is there to stay; it has told of Redis when this resolves. */
  const boot = async ({ appUrl }: TestDatabase): Promise<World> => {
    const settings = { REDIS_URL: url };
    const world = await openWorld({ ring: true, databaseUrl: appUrl, settings });
    worlds.push(world);
    await world.get(TellOfRedis).told;
    return world;
  };
  const alerts = ({ told }: World): unknown[] =>
    told.flatMap(({ name, args }) => (name === 'alert' ? [args] : []));
  const check = async (world: World) => {
    const [found, ...others] = await examineRedisOwner(world.get(RedisOwner));
    expect(others).toEqual([]);
    return found;
  };

  it('is told of to who begins with that of another database, once for each change', async () => {
    const [production, staging] = [await database(), await database()];
    const first = await boot(production);
    expect(alerts(first)).toEqual([]);
    const before = await redis.get(KEY);
    const other = await boot(staging);
    const now = await redis.get(KEY);
    expect(alerts(other)).toEqual([
      ['redis_of_another_database', { before, now, exit: expect.stringMatching(/ends in \/1/) }],
    ]);
    expect(alerts(await boot(staging))).toEqual([]);
    expect(alerts(await boot(production))).toHaveLength(1);
  });

  it('is known to the doctor of the one that others came after', async () => {
    const first = await boot(await database());
    expect(await check(first)).toMatchObject({ state: 'ok', detail: 'this database' });
    await boot(await database());
    const there = await redis.get(KEY);
    expect(await check(first)).toMatchObject({
      area: 'redis',
      state: 'finding',
      detail: expect.stringContaining(`${there}`) as string,
    });
    expect(await redis.get(KEY)).toBe(there);
    await redis.del(KEY);
    expect(await check(first)).toMatchObject({ state: 'ok', detail: 'nobody yet' });
  });

  it('is that of another where a dump was restored, and in each schema of a database', async () => {
    const [original, restored] = [await database(), await database()];
    const first = await boot(original);
    const [{ id } = { id: '' }] = await first.rows<{ id: string }>('SELECT id FROM installation');
    await withClient(restored, (client) => client.query('UPDATE installation SET id = $1', [id]));
    expect(alerts(await boot(restored))).toHaveLength(1);
    const sql = 'UPDATE installation SET id = gen_random_uuid()';
    await withClient(restored, (client) => client.query(sql));
    expect(alerts(await boot(restored))).toHaveLength(1);
  });

  it('holds no start up while it is away, and is told of when it is back', async () => {
    const own = await OwnRedis.start();
    try {
      await own.with((client) => client.set(KEY, 'another'));
      await own.kill();
      const away = { settings: { REDIS_URL: own.url }, ring: true };
      const world = await openWorld({ ...away, databaseUrl: (await database()).appUrl });
      worlds.push(world);
      expect(alerts(world)).toEqual([]);
      const unheard = await openWorld({ ...away, databaseUrl: (await database()).appUrl });
      await unheard.close();
      await own.start();
      await world.get(TellOfRedis).told;
      expect(alerts(world)).toEqual([
        ['redis_of_another_database', expect.objectContaining({ before: 'another' })],
      ]);
      expect(unheard.told.filter(({ name }) => name === 'failed')).toEqual([]);
    } finally {
      await own.remove();
    }
  });
});

async function withClient(
  { url }: TestDatabase,
  work: (client: Client) => Promise<unknown>,
): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
