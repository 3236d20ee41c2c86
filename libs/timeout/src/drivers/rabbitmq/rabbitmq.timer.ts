import { z } from 'zod';
import { hasStrayPercent, STRAY_PERCENT_RULE } from '../../stray-percent';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { RABBITMQ_ABILITIES } from './rabbitmq.abilities';

const url = z
  .string()
  .refine((text) => !hasStrayPercent(text), { error: STRAY_PERCENT_RULE, abort: true })
  .refine(
    (text) => URL.canParse(text) && /^amqps?:$/.test(new URL(text).protocol),
    'must be a URL that begins with amqp:// or amqps://',
  );

export const timer: TimerDriverKind = {
  name: 'rabbitmq',
  summary: 'messages in quorum queues, one a level of 1, 2, 4 ... seconds',
  abilities: RABBITMQ_ABILITIES,
  needs: ['RABBITMQ_URL'],
  settings: { RABBITMQ_URL: url.optional() },
  async create({ settings, prefix: installation, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const { RabbitmqDriver } = require('./rabbitmq.driver') as typeof import('./rabbitmq.driver');
    const prefix = `${installation}.alarms`;
    const url = settings.RABBITMQ_URL as string;
    return new RabbitmqDriver({ url, prefix, databaseClock, onError });
  },
  async examine({ settings, prefix }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const module = require('./examine-rabbitmq') as typeof import('./examine-rabbitmq');
    return module.examineRabbitmq(settings.RABBITMQ_URL as string, `${prefix}.alarms.due`);
  },
};
