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

export const timer: TimerDriverKind = {
  name: 'nats',
  summary: 'scheduled messages of a NATS JetStream',
  abilities: NATS_ABILITIES,
  needs: ['NATS_URL'],
  settings: { NATS_URL: servers },
  async create({ settings, prefix, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const { NatsDriver } = require('./nats.driver') as typeof import('./nats.driver');
    const stream = `${prefix}-alarms`.replace(/[^\w-]/g, '-');
    return new NatsDriver({ servers: settings.NATS_URL as string, stream, databaseClock, onError });
  },
};
