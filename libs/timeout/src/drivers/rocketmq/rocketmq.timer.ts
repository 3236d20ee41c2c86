import { z } from 'zod';
import { hasStrayPercent, STRAY_PERCENT_RULE } from '../../stray-percent';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { parseRocketmqUrl, ROCKETMQ_URL_RULE, type RocketmqAddress } from './rocketmq-address';
import { ROCKETMQ_ABILITIES } from './rocketmq.abilities';

const url = z
  .string()
  .refine((text) => !hasStrayPercent(text), { error: STRAY_PERCENT_RULE, abort: true })
  .refine((text) => parseRocketmqUrl(text) !== undefined, ROCKETMQ_URL_RULE)
  .optional();

export const timer: TimerDriverKind = {
  name: 'rocketmq',
  summary: 'timed messages of RocketMQ 5',
  abilities: ROCKETMQ_ABILITIES,
  needs: ['ROCKETMQ_URL'],
  settings: { ROCKETMQ_URL: url },
  async create({ settings, prefix, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const module = require('./rocketmq.driver') as typeof import('./rocketmq.driver');
    const address = parseRocketmqUrl(settings.ROCKETMQ_URL as string) as RocketmqAddress;
    const group = `${prefix}-alarms`.replace(/[^\w-]/g, '-');
    return new module.RocketmqDriver({ address, group, databaseClock, onError });
  },
  async examine({ settings }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const module = require('./examine-rocketmq') as typeof import('./examine-rocketmq');
    return module.examineRocketmq(
      parseRocketmqUrl(settings.ROCKETMQ_URL as string) as RocketmqAddress,
    );
  },
};
