import { randomUUID } from 'node:crypto';
import * as definition from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import type { TimerFinding } from '../../timer-driver-kind';
import type { RocketmqAddress } from './rocketmq-address';
import { RocketmqPeer } from './rocketmq-peer';

const LIMIT_MS = 1_500;
const { DELAY } = definition.MessageType;

/** Whether each proxy knows the topic, and whether that takes timed messages. */
export function examineRocketmq(address: RocketmqAddress): Promise<TimerFinding[]> {
  return Promise.all(address.endpoints.map((endpoint) => examineProxy(endpoint, address)));
}

async function examineProxy(endpoint: string, address: RocketmqAddress): Promise<TimerFinding> {
  const { topic } = address;
  const name = `RocketMQ ${endpoint}`;
  const peer = new RocketmqPeer(endpoint, address, `lastcall-doctor-${randomUUID()}`);
  try {
    const queues = await peer.queryRoute(LIMIT_MS);
    const timed = queues.filter((queue) => queue.getAcceptMessageTypesList().includes(DELAY));
    return {
      name,
      isFine: timed.length > 0,
      detail: `${topic}: ${timed.length} of ${queues.length} queues take timed messages`,
      fix: `mqadmin updateTopic -t ${topic} -a +message.type=DELAY`,
    };
  } catch (error) {
    const detail = (error as Error).message.split('\n')[0] ?? '';
    const fix = `start it, and make the topic: mqadmin updateTopic -t ${topic} -a +message.type=DELAY`;
    return { name, isFine: false, detail, fix };
  } finally {
    peer.close();
  }
}
