import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { FAIL_FAST, makeOrHangUp, openRedis } from '../../redis/redis';
import type { AlarmBoard } from '../../timer-driver-kind';
import type { RedisTimerOptions } from '../redis-timer';
import { BULLMQ_DEFAULTS } from './bullmq.options';

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
  const clients = places.map(({ redis }) => openRedis(redis, FAIL_FAST, onError));
  const hangUp = (): void => clients.forEach((client) => client.disconnect());
  const open = ({ prefix }: Place, index: number): Queue =>
    new Queue(BULLMQ_DEFAULTS.queueName, {
      connection: clients[index] as Redis,
      prefix,
      skipVersionCheck: true,
      skipMetasUpdate: true,
    });
  const queues = makeOrHangUp(() => places.map(open), hangUp);
  for (const queue of queues) queue.on('error', onError);
  return {
    queues,
    close: async () => {
      hangUp();
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}
