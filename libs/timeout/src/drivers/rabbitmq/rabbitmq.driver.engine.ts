import { FaultyProxy } from '../../../../../test/faults/proxy';
import { connect } from 'amqplib';
import { alarmIn, Bench, type DriverUnderTest } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { RABBITMQ_ABILITIES } from './rabbitmq.abilities';
import { RabbitmqDriver } from './rabbitmq.driver';

const { TEST_RABBITMQ_URL: brokerUrl = '' } = process.env;
let proxy: FaultyProxy;
const namespaces = new Set<string>();

beforeAll(async () => {
  if (brokerUrl === '') throw new Error('TEST_RABBITMQ_URL is not set: npm run test:engines');
  proxy = await FaultyProxy.to(Number(new URL(brokerUrl).port));
});
afterAll(() => proxy?.close());
afterEach(forgetEverything);

/** Deletes the queues of the tests so far: their alarms, and what tells the generation. */
async function forgetEverything(): Promise<void> {
  const model = await connect(brokerUrl);
  const channel = await model.createChannel();
  const levels = Array.from({ length: 28 }, (_, level) => `${2 ** level}s`);
  for (const prefix of namespaces) {
    for (const name of ['due', 'generation', ...levels]) {
      await channel.deleteQueue(`${prefix}.${name}`);
    }
  }
  await model.close();
}

const subject: DriverUnderTest = {
  create: ({ namespace: prefix, ...wish }) => {
    namespaces.clear();
    namespaces.add(prefix);
    return new RabbitmqDriver({ ...wish, prefix, url: proxy.through(brokerUrl) });
  },
  abilities: RABBITMQ_ABILITIES,
};

describeTimerDriver('RabbitmqDriver', subject);

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

  it('has another generation after the broker lost its data, and rings on', async () => {
    const bench = new Bench(subject);
    const driver = bench.open();
    await driver.start(bench.onRing());
    const { generation } = await driver.survey();
    await forgetEverything();
    expect((await driver.survey()).generation).not.toBe(generation);
    const alarm = alarmIn(50);
    const ring = bench.ringOf(alarm.id);
    for (let armed = false; !armed;)
      armed = await driver.arm([alarm]).then(
        () => true,
        () => false,
      );
    await ring;
    await bench.close();
  });
});
