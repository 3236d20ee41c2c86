import { FAIL_FAST, openRedis } from './redis';
import { OwnRedis } from '../testing/own-redis';

describe('a connection to what is a replica now', () => {
  let redis: OwnRedis;
  beforeAll(async () => {
    redis = await OwnRedis.start();
    await redis.with((client) => client.replicaof('127.0.0.1', 1));
  });
  afterAll(() => redis?.remove());

  it('hangs up when many writes are refused at once, and Node warns of no leak', async () => {
    const options = { ...FAIL_FAST, enableOfflineQueue: true };
    const client = openRedis(redis.url, options, () => undefined);
    await client.ping();
    const { stream } = client;
    const closed = new Promise((resolve) => client.once('close', resolve));
    const writes = Array.from({ length: 20 }, () => client.set('a', 'b'));
    for (const { reason } of (await Promise.allSettled(writes)) as PromiseRejectedResult[]) {
      expect(String(reason)).toContain('READONLY');
    }
    const listeners = stream.listenerCount('close');
    await closed;
    client.disconnect();
    // Node warns of more than that; 0 is any number.
    expect([0, Infinity]).toContain(stream.getMaxListeners());
    expect(listeners).toBeGreaterThan(20);
  });
});
