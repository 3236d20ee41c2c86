import * as definition from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import { RocketmqConsumer } from './rocketmq-consumer';
import { type InboxParts, RocketmqInbox } from './rocketmq-inbox';
import { RocketmqPeer } from './rocketmq-peer';

jest.mock('./rocketmq-inbox');

const ROUTE_MS = 30_000;
const FIRST_RETRY_MS = 100;

function queueOf(brokerName: string): definition.MessageQueue {
  const address = new definition.Address().setHost('127.0.0.1').setPort(1);
  const endpoints = new definition.Endpoints().setAddressesList([address]);
  return new definition.MessageQueue()
    .setBroker(new definition.Broker().setName(brokerName).setEndpoints(endpoints))
    .setPermission(definition.Permission.READ_WRITE);
}

/** Resolves and rejects when a test says so. */
function pending<T>() {
  let [resolve, reject] = [(_: T): void => undefined, (_: Error): void => undefined];
  const promise = new Promise<T>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}

describe('RocketmqConsumer', () => {
  let errors: string[];
  let consumer: RocketmqConsumer;
  let route: jest.SpyInstance;
  const inboxes = (): InboxParts[] => jest.mocked(RocketmqInbox).mock.calls.map(([parts]) => parts);
  const brokers = (): (string | undefined)[] =>
    inboxes().map(({ queue }) => queue.getBroker()?.getName());
  const lose = (index: number): void => inboxes()[index]?.onLost(new Error('lost'));

  beforeEach(() => {
    jest.useFakeTimers();
    jest.mocked(RocketmqInbox).mockClear();
    route = jest.spyOn(RocketmqPeer.prototype, 'queryRoute');
    errors = [];
    consumer = new RocketmqConsumer({
      address: { endpoints: ['127.0.0.1:1'], topic: 'alarms', tls: false },
      place: { topic: 'alarms', group: 'test', tag: 'test' },
      onMessages: async () => undefined,
      onError: ({ message }) => void errors.push(message),
    });
  });
  afterEach(async () => {
    await consumer.stop();
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('listens anew where a broker is lost while it asks which there are', async () => {
    route.mockResolvedValue([queueOf('one')]);
    consumer.start();
    await jest.advanceTimersByTimeAsync(0);
    const answer = pending<definition.MessageQueue[]>();
    route.mockReturnValueOnce(answer.promise);
    await jest.advanceTimersByTimeAsync(ROUTE_MS);
    lose(0);
    answer.resolve([queueOf('one')]);
    await jest.advanceTimersByTimeAsync(FIRST_RETRY_MS);
    expect(brokers()).toEqual(['one', 'one']);
    expect(errors).toEqual(['lost']);
  });

  it.each(['opens', 'does not open'])(
    'listens anew, once, where a broker is lost before another one %s',
    async (end) => {
      route.mockResolvedValue([queueOf('one'), queueOf('other'), queueOf('third')]);
      const second = pending<void>();
      jest
        .mocked(RocketmqInbox.prototype.open)
        .mockResolvedValueOnce()
        .mockReturnValueOnce(second.promise);
      consumer.start();
      await jest.advanceTimersByTimeAsync(0);
      expect(brokers()).toEqual(['one', 'other']);
      lose(0);
      if (end === 'opens') second.resolve();
      else second.reject(new Error('no settings'));
      await jest.advanceTimersByTimeAsync(FIRST_RETRY_MS);
      expect(brokers().slice(2)).toEqual(['one', 'other', 'third']);
      expect(errors).toEqual(['lost']);
    },
  );
});
