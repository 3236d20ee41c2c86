import { Queue } from 'bullmq';
import { FAIL_FAST, openRedis } from '../../redis';
import type { AlarmBoard } from '../../timer-driver-kind';
import type { RedisTimerOptions } from '../redis-timer';
import { BULLMQ_DEFAULTS } from './bullmq.driver';

/** Where a queue is, as the driver's options say it. */
type Place = Pick<RedisTimerOptions, 'redis' | 'prefix'>;

/**
 * Opens the alarms' queues, each a `Queue` of BullMQ, to look at, over connections of their own: what reads much must not
 * be in the way of what arms. Opening writes nothing. While Redis is away, calls wait for the first
 * connection and fail at once after it: whoever asks sets a time limit.
 */
export function openAlarmQueues(
  places: readonly Place[],
  onError: (error: Error) => void,
): AlarmBoard {
  const opened = places.map(({ redis, prefix }) => {
    const client = openRedis(redis, FAIL_FAST, onError);
    const queue = new Queue(BULLMQ_DEFAULTS.queueName, {
      connection: client,
      prefix,
      skipVersionCheck: true,
      skipMetasUpdate: true,
    });
    queue.on('error', onError);
    return { client, queue };
  });
  return {
    queues: opened.map(({ queue }) => queue),
    close: async () => {
      for (const { client } of opened) client.disconnect();
      await Promise.all(opened.map(({ queue }) => queue.close()));
    },
  };
}
