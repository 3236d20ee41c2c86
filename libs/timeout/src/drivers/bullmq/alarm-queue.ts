import { Queue } from 'bullmq';
import { FAIL_FAST, openRedis, type RedisAddress } from '../../redis';
import { BULLMQ_DEFAULTS } from './bullmq.driver';

export interface AlarmQueueOptions {
  readonly redis: RedisAddress;
  readonly onError: (error: Error) => void;
  /** As the driver's. */
  readonly prefix?: string;
  readonly queueName?: string;
}

/** The alarms for tools that show BullMQ queues. */
export interface AlarmQueue {
  /** A `Queue` of BullMQ, whose types are known in this folder only. */
  readonly queue: object;
  close(): Promise<void>;
}

/**
 * Opens the alarms' queue to look at, over a connection of its own: what reads much must not be in
 * the way of what arms. Opening writes nothing. While Redis is away, calls wait for the first
 * connection and fail at once after it: whoever asks sets a time limit.
 */
export function openAlarmQueue({ redis, onError, ...wish }: AlarmQueueOptions): AlarmQueue {
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
