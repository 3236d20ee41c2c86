import { FaultyProxy } from '../../../../../test/faults/proxy';
import { until } from '../../../../../test/support/until';
import { systemClock } from '../../clock';
import { OwnEngine } from '../../testing/own-engine';
import { alarmIn, Bench, type DriverUnderTest } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { connectRabbitmq } from './connect-rabbitmq';
import { examineRabbitmq } from './examine-rabbitmq';
import { LevelQueues } from './level-queues';
import { RABBITMQ_ABILITIES } from './rabbitmq.abilities';
import { RabbitmqDriver } from './rabbitmq.driver';

let server: OwnEngine;
let proxy: FaultyProxy;
beforeAll(async () => {
  server = await OwnEngine.start('rabbitmq');
  proxy = await FaultyProxy.to(Number(new URL(server.url).port));
});
afterAll(async () => {
  await proxy?.close();
  await server?.remove();
});

const prefixes = new Set<string>();
/** Each of these queues is a log of its own, that a broker reads through when it is started. */
afterEach(async () => {
  const model = await connectRabbitmq(server.url, { timeout: 10_000 });
  const channel = await model.createChannel();
  const levels = Array.from({ length: 28 }, (_, level) => `${2 ** level}s`);
  for (const prefix of prefixes) {
    for (const name of ['due', 'generation', ...levels]) {
      await channel.deleteQueue(`${prefix}.${name}`);
    }
  }
  prefixes.clear();
  await model.close();
});

describeTimerDriver('RabbitmqDriver', {
  create: ({ namespace: prefix, ...wish }) => {
    prefixes.add(prefix);
    return new RabbitmqDriver({ ...wish, prefix, url: server.url });
  },
  abilities: RABBITMQ_ABILITIES,
  store: () => server,
});

const subject: DriverUnderTest = {
  create: ({ namespace: prefix, ...wish }) => {
    prefixes.add(prefix);
    return new RabbitmqDriver({ ...wish, prefix, url: proxy.through(server.url) });
  },
  abilities: RABBITMQ_ABILITIES,
};

describe('RabbitmqDriver', () => {
  it('brings alarms through several levels, each on time, however they were armed', async () => {
    const bench = new Bench(subject);
    const driver = bench.open();
    const lateMs: number[] = [];
    await driver.start(bench.onRing(({ at }) => void lateMs.push(Date.now() - at.getTime())));
    const alarms = [5_600, 1_450, 3_100, 2_050, 700].map((inMs) => alarmIn(inMs));
    const rings = Promise.all(alarms.map(({ id }) => bench.ringOf(id)));
    await driver.arm(alarms);
    await rings;
    expect(bench.rung.map(({ at }) => at)).toEqual(
      alarms.map(({ at }) => at).sort((a, b) => a.getTime() - b.getTime()),
    );
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lateMs)).toBeLessThan(1_000);
    await bench.close();
  });

  it('gives back what it cannot send on, once, and drops what it cannot read', async () => {
    const bench = new Bench(subject);
    const driver = bench.open();
    await driver.start(bench.onRing());
    const { publish } = LevelQueues.prototype;
    let sentOn = 0;
    const publishing = jest
      .spyOn(LevelQueues.prototype, 'publish')
      .mockImplementation(async function (this: LevelQueues, ...args) {
        // The first is armed, the second is what leaves its queue too early.
        sentOn += 1;
        if (sentOn === 2) throw new Error('a queue refused');
        return publish.apply(this, args);
      });
    // Four seconds in a queue, and the rest of it in another.
    const alarm = alarmIn(5_900);
    const ring = bench.ringOf(alarm.id);
    await driver.arm([alarm]);
    const model = await connectRabbitmq(server.url, { timeout: 10_000 });
    const channel = await model.createConfirmChannel();
    const due = `${[...prefixes].at(-1)}.due`;
    channel.sendToQueue(due, Buffer.from('no alarm of ours'));
    await channel.waitForConfirms();
    await ring;
    publishing.mockRestore();
    expect(sentOn).toBe(3);
    expect(bench.errors.map(({ message }) => message)).toEqual([
      'A message in RabbitMQ is no alarm, and was dropped',
      'a queue refused',
    ]);
    expect(bench.rung.filter(({ id }) => id === alarm.id)).toHaveLength(1);
    await bench.close();
    // Whoever has gone holds nothing: what is left would be here.
    expect((await channel.checkQueue(due)).messageCount).toBe(0);
    await model.close();
  });

  it('keeps its generation, however often it is asked, where a message is delivered 20 times', async () => {
    const bench = new Bench(subject);
    const driver = bench.open();
    const told = new Set<string>();
    for (let times = 0; times < 50; times++) told.add((await driver.survey()).generation);
    expect(told.size).toBe(1);
    await bench.close();
  });

  it('has one generation where two processes have made one each', async () => {
    const bench = new Bench(subject);
    const [one, other] = [bench.open(), bench.open()];
    const { generation } = await one.survey();
    const model = await connectRabbitmq(server.url, { timeout: 10_000 });
    const channel = await model.createConfirmChannel();
    const queue = `${[...prefixes].at(-1)}.generation`;
    channel.sendToQueue(queue, Buffer.from('~ made at the same moment'), { persistent: true });
    await channel.waitForConfirms();
    for (let times = 0; times < 3; times++) {
      expect((await one.survey()).generation).toBe(generation);
      expect((await other.survey()).generation).toBe(generation);
    }
    await bench.close();
    await model.close();
  });

  it('says what the broker is short of where it takes no messages', async () => {
    const examine = async () => {
      const findings = await examineRabbitmq(server.url, 'a queue of nobody');
      return findings.find(({ name }) => name === 'RabbitMQ resources');
    };
    expect(await examine()).toMatchObject({ isFine: true });
    const onError = jest.fn();
    const prefix = 'short';
    prefixes.add(prefix);
    const driver = new RabbitmqDriver({
      ...{ url: server.url, prefix, onError, databaseClock: systemClock },
    });
    try {
      await server.control('set_disk_free_limit', '900000GB');
      await expect(driver.arm([alarmIn(60_000)])).rejects.toThrow('did not take a call');
      expect(onError.mock.calls).toEqual([
        [expect.objectContaining({ message: expect.stringMatching(/takes no messages: .*disk/) })],
      ]);
      expect(await examine()).toMatchObject({
        isFine: false,
        detail: expect.stringMatching(/disk/),
      });
    } finally {
      await server.control('set_disk_free_limit', '50MB');
      await driver.stop();
    }
    await until('it takes messages again', async () => (await examine())?.isFine);
  });

  it('rings on, and refuses in bounded time, when the broker goes and comes', async () => {
    const bench = new Bench(subject);
    const driver = bench.open();
    await driver.start(bench.onRing());
    const waiting = alarmIn(1_500);
    const ring = bench.ringOf(waiting.id);
    await driver.arm([waiting]);
    await proxy.refuse();
    const startedAtMs = performance.now();
    await expect(driver.arm([alarmIn(0)])).rejects.toThrow('alarm store');
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
    await proxy.restore();
    await ring;
    proxy.pause();
    await expect(driver.arm([alarmIn(0)])).rejects.toThrow('alarm store');
    proxy.resume();
    const again = alarmIn(0);
    const second = bench.ringOf(again.id);
    await driver.arm([again]);
    await second;
    await bench.close();
  });
});
