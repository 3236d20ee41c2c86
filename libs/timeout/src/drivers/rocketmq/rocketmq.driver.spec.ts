import { Timestamp } from 'google-protobuf/google/protobuf/timestamp_pb';
import * as definition from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import { HOUR_MS } from '../driver-bench';
import { RocketmqConsumer } from './rocketmq-consumer';
import { RocketmqPeer } from './rocketmq-peer';
import { RocketmqDriver } from './rocketmq.driver';

jest.mock('./rocketmq-consumer');

/** "Now" by the database and by the broker. */
const NOW_MS = 1_763_900_000_000;

/** Takes every message; when it is to be received, by its clock, tells. */
function takingPeer(): { sent: definition.Message[]; inMs: () => number[] } {
  const [broker, address] = [new definition.Broker().setName('one'), new definition.Address()];
  address.setHost('127.0.0.1').setPort(1);
  broker.setEndpoints(new definition.Endpoints().setAddressesList([address]));
  const queue = new definition.MessageQueue()
    .setBroker(broker)
    .setPermission(definition.Permission.READ_WRITE);
  const sent: definition.Message[] = [];
  jest.spyOn(RocketmqPeer.prototype, 'queryRoute').mockResolvedValue([queue]);
  jest.spyOn(RocketmqPeer.prototype, 'send').mockImplementation(async (message) => {
    sent.push(message);
    return '';
  });
  const inMs = (one: definition.Message): number =>
    Number(one.getSystemProperties()?.getDeliveryTimestamp()?.toDate().getTime()) - NOW_MS;
  return { sent, inMs: () => sent.map(inMs) };
}

function openDriver(onError: (error: Error) => void): RocketmqDriver {
  jest.mocked(RocketmqConsumer.prototype.stop).mockResolvedValue();
  return new RocketmqDriver({
    address: { endpoints: ['127.0.0.1:1'], topic: 'alarms', tls: false },
    group: 'test',
    databaseClock: { nowMs: () => NOW_MS },
    onError,
  });
}

/** As its consumer hands it over. */
async function bring(message: definition.Message): Promise<void> {
  const [parts] = jest.mocked(RocketmqConsumer).mock.lastCall ?? [];
  await parts?.onMessages('127.0.0.1:1', [message]);
}

afterEach(() => jest.restoreAllMocks());

it.each([-HOUR_MS, HOUR_MS])(
  'puts off what came early by the clock of its broker (ours is off by %d ms)',
  async (offMs) => {
    const { sent, inMs } = takingPeer();
    const acknowledge = jest.spyOn(RocketmqPeer.prototype, 'acknowledge').mockResolvedValue();
    jest.spyOn(Date, 'now').mockReturnValue(NOW_MS + offMs);
    const driver = openDriver((error) => {
      throw error;
    });
    await driver.arm([{ id: 'alarm', at: new Date(NOW_MS + 20_000) }]);
    const [message] = sent as [definition.Message];
    message.getSystemProperties()?.setStoreTimestamp(Timestamp.fromDate(new Date(NOW_MS)));
    await bring(message);
    expect(inMs()).toEqual([19_000 + offMs, 19_000]);
    expect(acknowledge).toHaveBeenCalledTimes(1);
    await driver.stop();
  },
);

it('acknowledges what is no alarm, so that it does not come again, and says so', async () => {
  const acknowledge = jest.spyOn(RocketmqPeer.prototype, 'acknowledge').mockResolvedValue();
  const onError = jest.fn();
  const driver = openDriver(onError);
  await bring(new definition.Message().setBody(Buffer.from('no alarm of ours')));
  expect(acknowledge).toHaveBeenCalledTimes(1);
  expect(onError.mock.calls).toEqual([
    [expect.objectContaining({ message: 'A message in RocketMQ is no alarm, and was dropped' })],
  ]);
  await driver.stop();
});
