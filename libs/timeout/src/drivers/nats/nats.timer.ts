import { z } from 'zod';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { NATS_ABILITIES } from './nats.abilities';

const servers = z
  .string()
  .refine(
    (text) =>
      text
        .split(',')
        .every((url) => URL.canParse(url) && /^(nats|tls):$/.test(new URL(url).protocol)),
    'must be a URL that begins with nats:// or tls://, or several with commas between them',
  )
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
