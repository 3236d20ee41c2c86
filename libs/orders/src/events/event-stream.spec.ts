import { OwnRedis } from '../../../timeout/src/testing/own-redis';
import { NoEventStream } from './event-stream';
import { describeEventStream, redisStream } from './event-stream.contract';

let redis: OwnRedis;
beforeAll(async () => (redis = await OwnRedis.start()));
afterAll(() => redis?.remove());

describeEventStream('RedisEventStream', {
  ...redisStream(() => redis.url),
  store: () => redis,
});

describe('NoEventStream', () => {
  it('takes everything, and has nothing to forget', async () => {
    const stream = new NoEventStream();
    await stream.append();
    expect(await stream.forgetReasons()).toBe(0);
    await expect(stream.close()).resolves.toBeUndefined();
  });
});
