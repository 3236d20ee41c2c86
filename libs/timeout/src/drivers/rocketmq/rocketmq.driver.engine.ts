import { until } from '../../../../../test/support/until';
import { OwnEngine } from '../../testing/own-engine';
import { alarmIn, Bench, type DriverUnderTest, HOUR_MS } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { parseRocketmqUrl, type RocketmqAddress } from './rocketmq-address';
import { timedMessage } from './rocketmq-messages';
import { RocketmqPeer } from './rocketmq-peer';
import { ROCKETMQ_ABILITIES } from './rocketmq.abilities';
import { RocketmqDriver } from './rocketmq.driver';

let server: OwnEngine;
beforeAll(async () => (server = await OwnEngine.start('rocketmq')));
afterAll(() => server?.remove());

/** The group of the driver that was made last. */
let lastGroup: string;

const subject: DriverUnderTest = {
  create: ({ namespace: group, ...wish }) => {
    lastGroup = group;
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

  it('drops what is no alarm, once, says so, and rings on', async () => {
    const acknowledge = jest.spyOn(RocketmqPeer.prototype, 'acknowledge');
    const driver = bench.open();
    await driver.start(bench.onRing());
    const address = parseRocketmqUrl(server.url) as RocketmqAddress;
    const stranger = new RocketmqPeer(address.endpoints[0] as string, address, 'stranger');
    const place = { topic: address.topic, group: lastGroup, tag: lastGroup };
    const strange = ['no alarm of ours', 'null', '{"id":"a","atMs":"soon"}'];
    for (const body of strange) {
      const { message } = timedMessage(place, { id: 'strange', atMs: 0 }, Date.now());
      await stranger.send(message.setBody(Buffer.from(body)), 1_500);
    }
    stranger.close();
    await until('each was dropped', () => bench.errors.length >= strange.length);
    const alarm = alarmIn(0);
    const ring = bench.ringOf(alarm.id);
    await driver.arm([alarm]);
    await ring;
    await until('the broker knows', () => acknowledge.mock.calls.length > strange.length);
    await Promise.all(acknowledge.mock.results.map(({ value }) => value as unknown));
    acknowledge.mockRestore();
    expect(bench.errors.map(({ message }) => message)).toEqual(
      strange.map(() => 'A message in RocketMQ is no alarm, and was dropped'),
    );
    expect(bench.rung).toEqual([alarm]);
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
