import { FAIL_FAST, openRedis } from './redis';
import { OwnRedis } from '../testing/own-redis';

describe('a connection to a database that Redis does not have', () => {
  let redis: OwnRedis;
  beforeAll(async () => {
    redis = await OwnRedis.start();
  });
  afterAll(() => redis?.remove());

  it('is none, and writes into no other', async () => {
    const refused: string[] = [];
    const options = { ...FAIL_FAST, enableOfflineQueue: true };
    const client = openRedis(`${redis.url}/16`, options, ({ message }) => refused.push(message));
    try {
      await expect(client.set('a', 'b')).rejects.toThrow();
    } finally {
      client.disconnect();
    }
    expect(refused).toContain('ERR DB index is out of range');
    expect(await redis.with((first) => first.dbsize())).toBe(0);
  });
});
