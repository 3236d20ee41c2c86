import type { RedisAddress } from '../../redis';
import type { TimerDriverContext, TimerDriverKind } from '../../timer-driver-kind';
import { BULLMQ_ABILITIES } from './bullmq.abilities';

export const timer: TimerDriverKind = {
  name: 'bullmq',
  summary: 'delayed jobs of BullMQ, in Redis',
  abilities: BULLMQ_ABILITIES,
  defaultRank: 1,
  needs: ['REDIS_URL'],
  async create(parts) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- large: only where it is used
    const { BullmqDriver } = require('./bullmq.driver') as typeof import('./bullmq.driver');
    const { databaseClock } = parts;
    return new BullmqDriver({ ...addressOf(parts), databaseClock });
  },
  openBoard(context) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- large: only where it is used
    const { openAlarmQueue } = require('./alarm-queue') as typeof import('./alarm-queue');
    return openAlarmQueue(addressOf(context));
  },
};

/** The braces keep all keys of the queue in one hash slot of a cluster. */
function addressOf({ settings, prefix, onError }: TimerDriverContext) {
  return { redis: settings.REDIS_URL as RedisAddress, prefix: `{${prefix}:alarms}`, onError };
}
