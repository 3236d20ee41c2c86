import { OwnRedis } from '../../testing/own-redis';
import { alarmIn, Bench, describeTimerDriver, type DriverUnderTest } from '../driver.contract';
import { BullmqDriver } from './bullmq.driver';

let redis: OwnRedis;

const subject: DriverUnderTest = {
  create: ({ namespace, ...wish }) =>
    new BullmqDriver({ ...wish, redis: redis.url, queueName: namespace }),
  abilities: { durable: true },
  store: () => ({
    kill: () => redis.kill(),
    start: () => redis.start(),
    freeze: () => redis.freeze(),
    thaw: () => redis.thaw(),
    connections: () => redis.connections(),
    flush: () => redis.with(async (client) => void (await client.flushall())),
  }),
};

beforeAll(async () => {
  redis = await OwnRedis.start();
});
afterAll(() => redis.remove());

describe('BullmqDriver', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench(subject);
  });
  afterEach(() => bench.close());

  it('leaves nothing of an alarm in Redis that has rung, well or not', async () => {
    const driver = bench.open();
    const [good, bad, fence] = [alarmIn(0), alarmIn(0), alarmIn(60)];
    await driver.start(
      bench.onRing(({ id }) => {
        if (id === bad.id) throw new Error('this ring fails');
      }),
    );
    const ring = bench.ringOf(fence.id);
    await driver.arm([good, bad, fence]);
    await ring;
    await driver.stop();
    const keys = await redis.with((client) => client.keys('*'));
    const left = keys.filter((key) => [good, bad, fence].some(({ id }) => key.includes(id)));
    expect(left).toEqual([]);
  });

  it('does not flood anybody with errors while Redis is out of memory', async () => {
    const driver = bench.open();
    const alarms = [alarmIn(50), alarmIn(60), alarmIn(70)];
    const rings = Promise.all(alarms.map(({ id }) => bench.ringOf(id)));
    await driver.arm(alarms);
    await redis.with((client) => client.config('SET', 'maxmemory', '1'));
    await driver.start(bench.onRing());
    await expect(driver.arm([alarmIn(0)])).rejects.toThrow('OOM');
    // 300 ms of refusals, told by another clock than the one that is out of order.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(bench.errors.length).toBeLessThan(20);
    await redis.with((client) => client.config('SET', 'maxmemory', '0'));
    await rings;
  });
});

// Last, and long enough for BullMQ's own pause of 5 s after a refusal to end before the run does.
describeTimerDriver('BullmqDriver', subject);
