import { z } from 'zod';
import { hasStrayPercent, STRAY_PERCENT_RULE } from '../../stray-percent';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { haveOneUser, NATS_URL_RULE, ONE_NATS_USER_RULE, parseNatsUrls } from './nats-address';
import { NATS_ABILITIES } from './nats.abilities';

const servers = z
  .string()
  .refine((text) => !hasStrayPercent(text), { error: STRAY_PERCENT_RULE, abort: true })
  .refine((text) => parseNatsUrls(text), { error: NATS_URL_RULE, abort: true })
  .refine((text) => haveOneUser(parseNatsUrls(text) ?? []), ONE_NATS_USER_RULE)
  .optional();

const streamOf = (prefix: string): string => `${prefix}-alarms`.replace(/[^\w-]/g, '-');

export const timer: TimerDriverKind = {
  name: 'nats',
  summary: 'scheduled messages of a NATS JetStream',
  abilities: NATS_ABILITIES,
  needs: ['NATS_URL'],
  settings: { NATS_URL: servers },
  async create({ settings, prefix, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const { refuseOldNatsClient } = require('./nats-versions') as typeof import('./nats-versions');
    refuseOldNatsClient();
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const { NatsDriver } = require('./nats.driver') as typeof import('./nats.driver');
    const stream = streamOf(prefix);
    return new NatsDriver({ servers: settings.NATS_URL as string, stream, databaseClock, onError });
  },
  async examine({ settings, prefix }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const { examineNats } = require('./examine-nats') as typeof import('./examine-nats');
    return examineNats(settings.NATS_URL as string, streamOf(prefix));
  },
};
