import type { Alarm, TimerDriver } from '../timer-driver';
import { RedlockLock } from '../locks/redlock.lock';
import { Cluster } from 'ioredis';
import { OwnCluster } from '../testing/own-cluster';
import { alarmIn, Bench, type DriverUnderTest, surveyed } from './driver-bench';
import { describeTimerDriver } from './driver.contract';
import { BULLMQ_ABILITIES } from './bullmq/bullmq.abilities';
import { BullmqDriver } from './bullmq/bullmq.driver';
import { REDIS_LIST_ABILITIES } from './redis-list/redis-list.abilities';
import { RedisListDriver } from './redis-list/redis-list.driver';
import { REDIS_ZSET_ABILITIES } from './redis-zset/redis-zset.abilities';
import { RedisZsetDriver } from './redis-zset/redis-zset.driver';

let cluster: OwnCluster;
beforeAll(async () => (cluster = await OwnCluster.start()), 60_000);
afterAll(() => cluster?.remove());

const zset: DriverUnderTest = {
  create: ({ namespace, ...wish }) =>
    new RedisZsetDriver({ ...wish, redis: cluster.url, prefix: `{${namespace}}` }),
  abilities: REDIS_ZSET_ABILITIES,
};

describeTimerDriver('RedisZsetDriver on a cluster of three masters', zset, 'essentials');

describe('BullmqDriver on a cluster of three masters', () => {
  it('arms, surveys and rings', async () => {
    const bench = new Bench({
      create: ({ namespace, ...wish }) =>
        new BullmqDriver({ ...wish, redis: cluster.url, prefix: `{${namespace}}` }),
      abilities: BULLMQ_ABILITIES,
    });
    const driver = bench.open();
    await driver.start(bench.onRing());
    const [near, far] = [alarmIn(300), alarmIn(3_600_000)];
    const ring = bench.ringOf(near.id);
    await driver.arm([near, far]);
    await ring;
    expect([...(await surveyed(driver)).keys()]).toEqual([far.id]);
    await bench.close();
  });
});

describeTimerDriver(
  'RedisListDriver on a cluster of three masters',
  {
    create: ({ namespace, ...wish }) =>
      new RedisListDriver({ ...wish, redis: cluster.url, prefix: `{${namespace}}` }),
    abilities: REDIS_LIST_ABILITIES,
  },
  'essentials',
);

describe('a cluster', () => {
  it('of which a master is gone refuses, in bounded time, and rings on when it is back', async () => {
    const bench = new Bench(zset);
    const driver = bench.open();
    await driver.start(bench.onRing());
    await driver.arm([alarmIn(3_600_000)]);
    for (const index of [0, 1, 2]) await cluster.killMaster(index);
    const startedAtMs = performance.now();
    await expect(driver.arm([alarmIn(0)])).rejects.toThrow('alarm store');
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
    await cluster.start();
    const alarm = alarmIn(0);
    const ring = bench.ringOf(alarm.id);
    await untilArmed(driver, alarm);
    await ring;
    await bench.close();
  });

  it('locks the orders of a batch by one call, and a host may pass its own client', async () => {
    const nodes = cluster.url.replace('redis://', '').split(',');
    const own = new Cluster(
      nodes.map((node) => ({ host: '127.0.0.1', port: Number(node.split(':')[1]) })),
    );
    const errors: Error[] = [];
    const lock = new RedlockLock({ redis: own, onError: (error) => errors.push(error) });
    const keys = Array.from({ length: 500 }, (_, n) => `lock:order:${n}`);
    const held = await lock.acquireFree(keys);
    expect([held.outcome, held.keys.size]).toEqual(['held', 500]);
    expect((await lock.acquireFree(keys.slice(0, 10))).outcome).toBe('contended');
    await held.release();
    await lock.close();
    expect(own.status).toBe('ready');
    own.disconnect();
    expect(errors).toEqual([]);
  });
});

/**
 * Again and again while the store is away. With a turn of the loop between: a driver that refuses at once
 * would leave none to its own connections.
 */
async function untilArmed(driver: TimerDriver, alarm: Alarm): Promise<void> {
  const arm = (): Promise<boolean> =>
    driver.arm([alarm]).then(
      () => true,
      () => false,
    );
  while (!(await arm())) await new Promise((resolve) => setTimeout(resolve, 20));
}
