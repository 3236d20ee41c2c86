import { OwnCluster } from '../../../timeout/src/testing/own-cluster';
import { OwnSentinel } from '../../../timeout/src/testing/own-sentinel';
import {
  describeEventStream,
  eventOf,
  expectComplete,
  redisStream,
  untilTaken,
} from './event-stream.contract';

jest.setTimeout(90_000);

describe('on a cluster', () => {
  let cluster: OwnCluster;
  beforeAll(async () => (cluster = await OwnCluster.start({ replicas: true })));
  afterAll(() => cluster?.remove());

  it('is asked for its clients alone, not for what replicas and their masters have', async () => {
    expect(await cluster.connections()).toBe(0);
  });

  const subject = redisStream(() => cluster.url);
  describeEventStream('RedisEventStream on a cluster of three masters with a replica each', {
    ...subject,
    store: () => cluster,
  });

  const KEY = '{lc}:order-events';

  it('goes on when its slot moves to another master', async () => {
    const stream = subject.create(KEY, 1_000);
    const events = Array.from({ length: 20 }, () => eventOf());
    await untilTaken(stream, events.slice(0, 10));
    const before = await cluster.masterOf(KEY);
    await cluster.moveSlotOf(KEY);
    expect(await cluster.masterOf(KEY)).not.toBe(before);
    await untilTaken(stream, events.slice(10));
    await expectComplete(subject, KEY, events);
    await stream.close();
  });

  it('goes on when its master is killed: the replica takes over', async () => {
    const key = `${KEY}:of-a-master-that-dies`;
    const stream = subject.create(key, 1_000);
    const events = Array.from({ length: 20 }, () => eventOf());
    await untilTaken(stream, events.slice(0, 10));
    const master = await cluster.masterOf(key);
    await cluster.untilCaughtUp(master);
    await cluster.killMaster(master);
    await untilTaken(stream, events.slice(10));
    await expectComplete(subject, key, events);
    await stream.close();
    await cluster.start();
  });
});

describe('by a sentinel', () => {
  let sentinel: OwnSentinel;
  beforeAll(async () => (sentinel = await OwnSentinel.start()));
  afterAll(() => sentinel?.remove());

  const subject = redisStream(() => sentinel.url);
  describeEventStream('RedisEventStream by a sentinel', subject);

  it('goes on when the master was killed and the replica is master', async () => {
    const key = '{lc}:of-a-master-that-dies';
    const stream = subject.create(key, 1_000);
    const events = Array.from({ length: 20 }, () => eventOf());
    await untilTaken(stream, events.slice(0, 10));
    await sentinel.killMaster();
    await untilTaken(stream, events.slice(10));
    await expectComplete(subject, key, events);
    await stream.close();
  });
});
