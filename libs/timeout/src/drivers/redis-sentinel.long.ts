import type { Alarm, TimerDriver } from '../timer-driver';
import { describeLock } from '../locks/lock.contract';
import type { LockWish } from '../testing/lock-wish';
import { RedlockLock } from '../locks/redlock.lock';
import { OwnSentinel } from '../testing/own-sentinel';
import { BullmqDriver } from './bullmq/bullmq.driver';
import { describeTimerDriver } from './driver.contract';
import { alarmIn, Bench, type DriverUnderTest } from './driver-bench';
import type { RedisTimerOptions } from './redis-timer';
import { RedisKeyspaceDriver } from './redis-keyspace/redis-keyspace.driver';
import { RedisListDriver } from './redis-list/redis-list.driver';
import { RedisZsetDriver } from './redis-zset/redis-zset.driver';
import { timerDriverKind } from './registry';

jest.setTimeout(60_000);

let sentinel: OwnSentinel;
beforeAll(async () => (sentinel = await OwnSentinel.start()));
afterAll(() => sentinel?.remove());

type Driver = new (options: RedisTimerOptions) => TimerDriver;

const bySentinel = (name: string, Driver: Driver): DriverUnderTest => ({
  create: ({ namespace, ...wish }) =>
    new Driver({ ...wish, redis: sentinel.url, prefix: `{${namespace}}` }),
  abilities: timerDriverKind(name).abilities,
});

const LASTING: readonly (readonly [string, Driver])[] = [
  ['bullmq', BullmqDriver],
  ['redis-list', RedisListDriver],
  ['redis-zset', RedisZsetDriver],
];

for (const [name, Driver] of [...LASTING, ['redis-keyspace', RedisKeyspaceDriver] as const]) {
  describeTimerDriver(`${Driver.name} by a sentinel`, bySentinel(name, Driver), 'essentials');
}

/** Patient: a machine that stands still is no silent store. */
const lockBySentinel = (wish?: LockWish): RedlockLock => {
  const onError = (): void => undefined;
  return new RedlockLock({
    ...{ redis: sentinel.url, onError, callTimeoutMs: 10_000, ttlMs: 20_000 },
    ...wish,
  });
};

describeLock('RedlockLock by a sentinel', { create: lockBySentinel, excludes: true });

describe('when the master was killed and the replica is master', () => {
  // Each test needs a replica that can take over.
  beforeEach(async () => {
    await sentinel.remove();
    sentinel = await OwnSentinel.start();
  });

  it.each(LASTING)('%s rings on', async (name, Driver) => {
    const bench = new Bench(bySentinel(name, Driver));
    const driver = bench.open();
    await driver.start(bench.onRing());
    const [before, after] = [alarmIn(100), alarmIn(15_000)];
    const [ring, last] = [bench.ringOf(before.id), bench.ringOf(after.id)];
    await untilArmed(driver, before, after);
    await ring;
    await sentinel.killMaster();
    const late = alarmIn(0);
    const rings = [bench.ringOf(late.id), last];
    await untilArmed(driver, late);
    await Promise.all(rings);
    await bench.close();
  });

  it('a lock that was held is held still, and is given back there', async () => {
    const [one, other] = [lockBySentinel({ extendForMs: 0, ttlMs: 50_000 }), lockBySentinel()];
    const key = 'lock:order:1';
    const held = await one.acquireOne(key);
    expect(held.outcome).toBe('held');
    await sentinel.killMaster();
    const outcome = async (): Promise<string> => {
      const attempt = await other.acquireFree([key]);
      await attempt.release();
      return attempt.outcome;
    };
    await untilTrue(async () => (await outcome()) === 'contended');
    await held.release();
    await untilTrue(async () => (await outcome()) === 'held');
    await Promise.all([one.close(), other.close()]);
  });
});

/**
 * Again and again while the store is away. With a turn of the loop between: a driver that refuses at once
 * would leave none to its own connections.
 */
async function untilArmed(driver: TimerDriver, ...alarms: readonly Alarm[]): Promise<void> {
  const arm = (): Promise<boolean> =>
    driver.arm(alarms).then(
      () => true,
      () => false,
    );
  await untilTrue(arm);
}

async function untilTrue(look: () => Promise<boolean>): Promise<void> {
  while (!(await look())) await new Promise((resolve) => setTimeout(resolve, 20));
}
