import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { until } from '../../../../../test/support/until';
import { systemClock } from '../../clock';
import { armLost } from '../../alarms/lost-alarms';
import { silentTelemetry } from '../../telemetry';
import { OwnRedis } from '../../testing/own-redis';
import { TimerStoreHealth } from '../../alarms/timer-store-health';
import { alarmIn, Bench, type DriverUnderTest, surveyed } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { BULLMQ_ABILITIES } from './bullmq.abilities';
import { BullmqDriver } from './bullmq.driver';

let redis: OwnRedis;

const subject: DriverUnderTest = {
  create: ({ namespace, callTimeoutMs: armTimeoutMs, ...wish }) =>
    new BullmqDriver({
      ...wish,
      ...(armTimeoutMs ? { armTimeoutMs } : {}),
      redis: redis.url,
      queueName: namespace,
    }),
  abilities: BULLMQ_ABILITIES,
  store: () => redis,
};

beforeAll(async () => {
  redis = await OwnRedis.start();
});
afterAll(() => redis?.remove());

describe('BullmqDriver', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench(subject);
  });
  afterEach(() => bench.close());

  it('leaves nothing of an alarm in Redis that has rung, well, badly or last', async () => {
    const driver = bench.open();
    const [good, bad, last] = [alarmIn(0), alarmIn(0), alarmIn(60)];
    let stopped = Promise.resolve();
    await driver.start(
      bench.onRing(({ id }) => {
        if (id === bad.id) throw new Error('this ring fails');
        if (id === last.id) stopped = driver.stop();
      }),
    );
    const ring = bench.ringOf(last.id);
    await driver.arm([good, bad, last]);
    await ring;
    await stopped;
    const keys = await redis.with((client) => client.keys('*'));
    const left = keys.filter((key) => [good, bad, last].some(({ id }) => key.includes(id)));
    expect(left).toEqual([]);
  });

  it.each(['{}', '{"atMs":"x"}', 'no JSON'])('lists an alarm that holds %s', async (data) => {
    const driver = bench.open();
    const alarm = alarmIn(60);
    await driver.arm([alarm]);
    await redis.with(async (client) => {
      const [key] = await client.keys(`*:${alarm.id}`);
      await client.hset(key as string, 'data', data);
    });
    const listed: unknown[] = [];
    for await (const one of (await driver.survey()).alarms()) listed.push(one);
    expect(listed).toEqual([{ id: alarm.id, at: new Date(0) }]);
  });

  /** One that looks often whether its worker hears, and what it tells of. */
  const watchful = (lookEveryMs: number, concurrency = 4) => {
    const told: string[] = [];
    const onError = ({ message }: Error): void => void told.push(message);
    const options = { redis: redis.url, queueName: randomUUID(), databaseClock: systemClock };
    return { told, driver: new BullmqDriver({ ...options, onError, lookEveryMs, concurrency }) };
  };

  it("arms and rings by a host's client, however that is set", async () => {
    const settings = { lazyConnect: true, keyPrefix: 'shop:', commandTimeout: 50 };
    const host = new Redis(redis.url, settings);
    const told: Error[] = [];
    const onError = (error: Error): void => void told.push(error);
    const options = { queueName: randomUUID(), databaseClock: systemClock, onError };
    const driver = new BullmqDriver({ ...options, redis: host });
    const alarm = alarmIn(500);
    const ring = bench.ringOf(alarm.id);
    try {
      await driver.start(bench.onRing());
      await driver.arm([alarm]);
      await ring;
    } finally {
      await driver.stop();
      host.disconnect();
    }
    expect(told).toEqual([]);
  });

  it('holds an alarm again of which Redis has lost the place and not the job', async () => {
    const [driver, alarm] = [bench.open(), alarmIn(60_000)];
    await driver.arm([alarm]);
    await redis.with(async (client) => {
      for (const key of await client.keys('*:delayed')) await client.zrem(key, alarm.id);
    });
    const health = new TimerStoreHealth(silentTelemetry);
    expect(await armLost([[alarm]], await driver.survey(), driver, health)).toBe(1);
    expect([...(await surveyed(driver)).keys()]).toEqual([alarm.id]);
  });

  it('leaves no connection open where BullMQ refuses it', async () => {
    const options = { redis: redis.url, databaseClock: systemClock, onError: () => undefined };
    const nobody = (): Promise<boolean> =>
      until('nobody is connected', async () => (await redis.connections()) === 0);
    await nobody();
    const driver = new BullmqDriver({ ...options, queueName: 'a:b' });
    try {
      for (let n = 0; n < 3; n++) {
        await expect(driver.arm([alarmIn(0)])).rejects.toThrow('Queue name');
      }
      await expect(driver.start(bench.onRing())).rejects.toThrow('Queue name');
      await nobody();
    } finally {
      await driver.stop();
    }
  });

  it('rings on where BullMQ has fallen silent', async () => {
    const run = jest.spyOn(Worker.prototype, 'run');
    const { told, driver } = watchful(200);
    const [before, missed, after] = [alarmIn(0), alarmIn(0), alarmIn(0)];
    const rings = [before, missed, after].map(({ id }) => bench.ringOf(id));
    await driver.start(bench.onRing());
    await driver.arm([before]);
    await rings[0];
    // Whatever has silenced it: this says nothing to anybody either.
    await (run.mock.contexts.at(-1) as Worker).pause(true);
    await driver.arm([missed]);
    await rings[1];
    await driver.arm([after]);
    await rings[2];
    run.mockRestore();
    await driver.stop();
    expect(new Set(told)).toEqual(
      new Set(['BullMQ took no alarm although some were due: it begins anew']),
    );
    expect(bench.rung).toEqual([before, missed, after]);
  });

  it('leaves a worker alone that has no room for what is due', async () => {
    const { told, driver } = watchful(20, 1);
    const [slow, ...others] = [alarmIn(0), alarmIn(0), alarmIn(0)];
    let [begun, finish] = [(): void => undefined, (): void => undefined];
    const ringing = new Promise<void>((resolve) => (begun = resolve));
    const finished = new Promise<void>((resolve) => (finish = resolve));
    await driver.start(
      bench.onRing(({ id }) => {
        begun();
        return id === slow?.id ? finished : undefined;
      }),
    );
    await driver.arm([slow]);
    await ringing;
    const rings = others.map(({ id }) => bench.ringOf(id));
    await driver.arm(others);
    told.splice(0);
    const looks = async (): Promise<number> => {
      const stats = await redis.with((client) => client.info('commandstats'));
      return Number(/cmdstat_zcount:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    const before = await looks();
    await until('it has looked often', async () => (await looks()) > before + 20);
    // Once there is room it may look twice before the next is taken.
    const toldMeanwhile = [...told];
    finish();
    await Promise.all(rings);
    await driver.stop();
    expect(toldMeanwhile).toEqual([]);
  });

  it('does not flood anybody with errors while Redis is out of memory', async () => {
    const refusedAtMs: number[] = [];
    let refusedOften = (): void => undefined;
    const often = new Promise<void>((resolve) => (refusedOften = resolve));
    const driver = subject.create({
      namespace: randomUUID(),
      databaseClock: systemClock,
      onError: () => {
        if (refusedAtMs.push(performance.now()) === 7) refusedOften();
      },
    });
    const alarm = alarmIn(0);
    const ring = bench.ringOf(alarm.id);
    await driver.arm([alarm]);
    const limitMemory = (bytes: string): Promise<unknown> =>
      redis.with((client) => client.config('SET', 'maxmemory', bytes));
    try {
      await limitMemory('1');
      await driver.start(bench.onRing());
      await expect(driver.arm([alarmIn(0)])).rejects.toThrow('OOM');
      await often;
      const [first, seventh] = [refusedAtMs[0], refusedAtMs[6]] as [number, number];
      // Three at a time.
      expect(seventh - first).toBeGreaterThan(800);
      await limitMemory('0');
      await ring;
    } finally {
      await limitMemory('0');
      await driver.stop();
    }
  });

  it('leaves its process room where ioredis refuses by itself, as for a cluster that is gone', async () => {
    let refusals = 0;
    let untilMs: number | undefined;
    const isRefused = (): boolean => (untilMs ??= performance.now() + 1_200) > performance.now();
    const send = Redis.prototype.sendCommand;
    const sending = jest.spyOn(Redis.prototype, 'sendCommand').mockImplementation(function (
      this: Redis,
      ...[command, ...rest]: Parameters<typeof send>
    ) {
      // What the worker asks for its next job by, within the very turn of the event loop. Without
      // an end to it, it would stop this test for good, too.
      const isAsked = command.name === 'evalsha' && this.options.maxRetriesPerRequest === null;
      if (!isAsked || refusals > 100_000 || !isRefused()) return send.call(this, command, ...rest);
      refusals += 1;
      command.reject(new Error('Too many Cluster redirections'));
      return command.promise;
    });
    const told: string[] = [];
    const options = { redis: redis.url, queueName: randomUUID(), databaseClock: systemClock };
    const onError = ({ message }: Error): void => void told.push(message);
    const driver = new BullmqDriver({ ...options, onError });
    const alarm = alarmIn(0);
    const ring = bench.ringOf(alarm.id);
    try {
      await driver.arm([alarm]);
      await driver.start(bench.onRing());
      await ring;
    } finally {
      sending.mockRestore();
      await driver.stop();
    }
    expect(told).toContain('Too many Cluster redirections');
    expect(refusals).toBeGreaterThan(0);
    expect(refusals).toBeLessThan(50);
  });
});

// Last, and long enough for BullMQ's own pause of 5 s after a refusal to end before the run does.
describeTimerDriver('BullmqDriver', subject);
