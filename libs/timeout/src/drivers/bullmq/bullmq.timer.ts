import { placesOf, redisTimer } from '../redis-timer';
import { BULLMQ_ABILITIES } from './bullmq.abilities';

export const timer = redisTimer({
  name: 'bullmq',
  summary: 'delayed jobs of BullMQ, in Redis',
  abilities: BULLMQ_ABILITIES,
  defaultRank: 1,
  suffix: '',
  load: () =>
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- large: only where it is used
    (require('./bullmq.driver') as typeof import('./bullmq.driver')).BullmqDriver,
  openBoard(context) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- large: only where it is used
    const { openAlarmQueues } = require('./alarm-queue') as typeof import('./alarm-queue');
    return openAlarmQueues(placesOf(context), context.onError);
  },
});
