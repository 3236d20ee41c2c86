import type { Alarm, TimerDriver } from '../timer-driver';
import { OwnSentinel } from '../testing/own-sentinel';
import { BULLMQ_ABILITIES } from './bullmq/bullmq.abilities';
import { BullmqDriver } from './bullmq/bullmq.driver';
import { alarmIn, Bench, type DriverUnderTest } from './driver-bench';
import { REDIS_ZSET_ABILITIES } from './redis-zset/redis-zset.abilities';
import { RedisZsetDriver } from './redis-zset/redis-zset.driver';

let sentinel: OwnSentinel;
beforeEach(async () => (sentinel = await OwnSentinel.start()), 60_000);
afterEach(() => sentinel?.remove());

const subjects: readonly (readonly [string, DriverUnderTest])[] = [
  [
    'BullmqDriver',
    {
      create: ({ namespace, ...wish }) =>
        new BullmqDriver({ ...wish, redis: sentinel.url, prefix: `{${namespace}}` }),
      abilities: BULLMQ_ABILITIES,
    },
  ],
  [
    'RedisZsetDriver',
    {
      create: ({ namespace, ...wish }) =>
        new RedisZsetDriver({ ...wish, redis: sentinel.url, prefix: `{${namespace}}` }),
      abilities: REDIS_ZSET_ABILITIES,
    },
  ],
];

describe.each(subjects)('%s by a sentinel', (_, subject) => {
  it('rings on when the master was killed and the replica is master', async () => {
    const bench = new Bench(subject);
    const driver = bench.open();
    await driver.start(bench.onRing());
    const [before, after] = [alarmIn(100), alarmIn(15_000)];
    const ring = bench.ringOf(before.id);
    await driver.arm([before, after]);
    await ring;
    await sentinel.killMaster();
    const late = alarmIn(0);
    const rings = [bench.ringOf(late.id), bench.ringOf(after.id)];
    await untilArmed(driver, late);
    await Promise.all(rings);
    await bench.close();
  }, 60_000);
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
