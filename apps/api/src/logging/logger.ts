import { Inject } from '@nestjs/common';
import {
  type DestinationStream,
  type Logger as PinoLogger,
  type LoggerOptions,
  pino,
  stdTimeFunctions,
} from 'pino';
import { loggedError } from './logged-error';

export type Logger = PinoLogger;

const LOGGER = Symbol('Logger');
export const InjectLogger = () => Inject(LOGGER);
export const loggerProvider = (logger: Logger) => ({ provide: LOGGER, useValue: logger });

/** Never printed, at whatever depth of two: what would let a reader of the log act as somebody. */
const SECRETS = [
  'authorization',
  'cookie',
  '["set-cookie"]',
  '["webhook-signature"]',
  '["stripe-signature"]',
  'AUTH_JWT_SECRET',
  'HISTORY_SEAL_KEY',
  'SANDBOX_WEBHOOK_SECRET',
  'SANDBOX_WEBHOOK_SECRET_PREVIOUS',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'DATABASE_URL',
  'REDIS_URL',
  'password',
  'secret',
  'token',
];

const under = (prefix: string) =>
  SECRETS.map((name) => (name.startsWith('[') ? `${prefix}${name}` : `${prefix}.${name}`));

/** A password inside a connection URL, which errors like to quote. */
const URL_PASSWORD = /(\b[a-z][a-z+.-]*:\/\/[^\s:/@]*:)[^\s@/]+@/gi;

/** JSON lines on stdout, or to `sink`. */
export function createLogger(level: string, sink?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { name: 'lastcall' },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: [...SECRETS, ...under('*'), ...under('*.*')], censor: '[redacted]' },
    serializers: { err: loggedError },
    // Whole lines, as an error's message, stack and cause all quote the same address.
    hooks: { streamWrite: (line) => line.replace(URL_PASSWORD, '$1[redacted]@') },
  };
  return sink ? pino(options, sink) : pino(options);
}
