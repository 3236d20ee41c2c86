import { Queue } from 'bullmq';
import { FAIL_FAST, openRedis, type RedisAddress } from '../../redis';
import type { AlarmBoard } from '../../timer-driver-kind';
import { BULLMQ_DEFAULTS } from './bullmq.driver';

export interface AlarmQueueOptions {
  readonly redis: RedisAddress;
  readonly onError: (error: Error) => void;
  /** As the driver's. */
  readonly prefix?: string;
  readonly queueName?: string;
}

/**
 * Opens the alarms' queue, a `Queue` of BullMQ, to look at, over a connection of its own: what reads much must not be in
 * the way of what arms. Opening writes nothing. While Redis is away, calls wait for the first
 * connection and fail at once after it: whoever asks sets a time limit.
 */
export function openAlarmQueue({ redis, onError, ...wish }: AlarmQueueOptions): AlarmBoard {
  const { prefix, queueName } = { ...BULLMQ_DEFAULTS, ...wish };
  const client = openRedis(redis, FAIL_FAST, onError);
  const queue = new Queue(queueName, {
    connection: client,
    prefix,
    skipVersionCheck: true,
    skipMetasUpdate: true,
  });
  queue.on('error', onError);
  return {
    queue,
    close: async () => {
      client.disconnect();
      await queue.close();
    },
  };
}
