import { timed } from '../testing/awake-time';
import type { Alarm, TimerDriver } from '../timer-driver';
import { hashTags } from '../redis/hash-tags';
import { describeLock } from '../locks/lock.contract';
import { RedlockLock } from '../locks/redlock.lock';
import { Cluster } from 'ioredis';
import { OwnCluster } from '../testing/own-cluster';
import { alarmIn, Bench, type DriverUnderTest } from './driver-bench';
import { describeTimerDriver } from './driver.contract';
import { timerDriverKind } from './registry';
import type { RedisTimerOptions } from './redis-timer';
import { spread } from './spread-driver';
import { BullmqDriver } from './bullmq/bullmq.driver';
import { RedisKeyspaceDriver } from './redis-keyspace/redis-keyspace.driver';
import { RedisListDriver } from './redis-list/redis-list.driver';
import { RedisZsetDriver } from './redis-zset/redis-zset.driver';

jest.setTimeout(60_000);

/** As an installation on a cluster has them when it asks for no other number. */
const TAGS = 4;
/** The first call meets a cluster that it has to get to know. */
const CALL_MS = 1_000;
/** A lock on a machine that stands still at times, where its store's silence is not the question. */
const PATIENT = { callTimeoutMs: 10_000, ttlMs: 20_000 };

let cluster: OwnCluster;
beforeAll(async () => (cluster = await OwnCluster.start()), 60_000);
afterAll(() => cluster?.remove());

/** As its kind creates it: a driver for each tag. */
function onCluster(
  name: string,
  Driver: new (options: RedisTimerOptions) => TimerDriver,
): DriverUnderTest {
  return {
    create: ({ namespace, ...wish }) =>
      spread(
        hashTags(namespace, TAGS),
        (prefix) => new Driver({ ...wish, redis: cluster.url, prefix }),
      ),
    abilities: timerDriverKind(name).abilities,
  };
}

const zset = onCluster('redis-zset', RedisZsetDriver);
const PLACE = `on a cluster of three masters, over ${TAGS} hash tags`;

for (const [name, Driver] of [
  ['bullmq', BullmqDriver],
  ['redis-list', RedisListDriver],
  ['redis-zset', RedisZsetDriver],
] as const) {
  const subject = { ...onCluster(name, Driver), store: () => cluster };
  describeTimerDriver(`${Driver.name} ${PLACE}`, subject, 'everything');
}
describeTimerDriver(
  `RedisKeyspaceDriver ${PLACE}`,
  onCluster('redis-keyspace', RedisKeyspaceDriver),
  'essentials',
);

describeLock(`RedlockLock ${PLACE}`, {
  create: (wish) => {
    const tags = hashTags('lc', TAGS);
    const onError = (): void => undefined;
    return new RedlockLock({ redis: cluster.url, tags, onError, ...PATIENT, ...wish });
  },
  excludes: true,
  store: () => cluster,
  callTimeoutMs: CALL_MS,
});

describe('a cluster', () => {
  it('has alarms, and locks, on all of its masters', async () => {
    const masters = async (name: string): Promise<number> => {
      const holders = hashTags(name, TAGS).map((tag) => cluster.masterOf(tag));
      return new Set(await Promise.all(holders)).size;
    };
    expect([await masters('lc:alarms'), await masters('lc')]).toEqual([3, 3]);
  });

  it('of which a master is gone refuses, in bounded time, and rings on when it is back', async () => {
    const bench = new Bench(zset);
    const driver = bench.open();
    await driver.start(bench.onRing());
    await untilArmed(driver, alarmIn(3_600_000));
    for (const index of [0, 1, 2]) await cluster.killMaster(index);
    const { tookMs } = await timed(() =>
      expect(driver.arm([alarmIn(0)])).rejects.toThrow('alarm store'),
    );
    expect(tookMs).toBeLessThan(2_000);
    await cluster.start();
    const alarm = alarmIn(0);
    const ring = bench.ringOf(alarm.id);
    await untilArmed(driver, alarm);
    await ring;
    await bench.close();
  });

  it('locks the orders of a batch by one call a tag, and a host may pass its own client', async () => {
    const nodes = cluster.url.replace('redis://', '').split(',');
    const own = new Cluster(
      nodes.map((node) => ({ host: '127.0.0.1', port: Number(node.split(':')[1]) })),
    );
    const errors: Error[] = [];
    const tags = hashTags('batch', TAGS);
    const onError = (error: Error): void => void errors.push(error);
    const lock = new RedlockLock({ redis: own, tags, onError, ...PATIENT });
    const keys = Array.from({ length: 500 }, (_, n) => `lock:order:${n}`);
    // The first use of a script is sent with its text, and tells nothing of how many calls there are.
    await (await lock.acquireFree(keys)).release();
    const before = await cluster.callsOf('evalsha');
    const held = await lock.acquireFree(keys);
    expect((await cluster.callsOf('evalsha')) - before).toBe(TAGS);
    expect([held.outcome, held.keys.size]).toEqual(['held', 500]);
    const others = await lock.acquireFree([...keys.slice(0, 10), 'lock:order:free']);
    expect([others.outcome, [...others.keys]]).toEqual(['contended', ['lock:order:free']]);
    await Promise.all([held.release(), others.release()]);
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
