import { OwnEngine } from '../../testing/own-engine';
import { alarmIn, Bench, type DriverUnderTest, HOUR_MS } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { parseRocketmqUrl, type RocketmqAddress } from './rocketmq-address';
import { ROCKETMQ_ABILITIES } from './rocketmq.abilities';
import { RocketmqDriver } from './rocketmq.driver';

let server: OwnEngine;
beforeAll(async () => (server = await OwnEngine.start('rocketmq')));
afterAll(() => server?.remove());

const subject: DriverUnderTest = {
  create: ({ namespace: group, ...wish }) => {
    const address = parseRocketmqUrl(server.url) as RocketmqAddress;
    return new RocketmqDriver({ ...wish, address, group });
  },
  abilities: ROCKETMQ_ABILITIES,
  store: () => server,
};

describeTimerDriver('RocketmqDriver', subject);

describe('RocketmqDriver', () => {
  let bench: Bench;
  beforeEach(() => (bench = new Bench(subject)));
  afterEach(() => bench.close());

  it('recalls what it has armed, and nothing that another has armed', async () => {
    const [one, other] = [bench.open(), bench.open()];
    await one.start(bench.onRing());
    const [mine, theirs, fence] = [alarmIn(3_000), alarmIn(3_000), alarmIn(4_500)];
    const ring = bench.ringOf(fence.id);
    await one.arm([mine, fence]);
    await other.arm([theirs]);
    await one.disarm([mine.id, theirs.id]);
    await ring;
    expect(bench.rung).toEqual([theirs, fence]);
  });

  it('takes it for no fault that nothing comes for longer than a poll lasts', async () => {
    const driver = bench.open();
    await driver.start(bench.onRing());
    const alarm = alarmIn(13_000);
    const ring = bench.ringOf(alarm.id);
    await driver.arm([alarm]);
    await ring;
    expect(bench.errors).toEqual([]);
  });

  it('takes what is farther away than a broker keeps, and one that is armed in thousands', async () => {
    const driver = bench.open();
    await driver.start(bench.onRing());
    const alarms = Array.from({ length: 1_000 }, () => alarmIn(40 * 24 * HOUR_MS));
    const near = alarmIn(0);
    const ring = bench.ringOf(near.id);
    await driver.arm([...alarms, near]);
    await ring;
    expect(bench.rung).toEqual([near]);
  });
});
