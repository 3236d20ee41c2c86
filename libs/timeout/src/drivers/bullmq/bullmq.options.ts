import type { Clock } from '../../clock';
import type { RedisAddress } from '../../redis/redis';

export interface BullmqDriverOptions {
  readonly redis: RedisAddress;
  /** "Now" by the database: how long an alarm has to wait is reckoned against it. */
  readonly databaseClock: Clock;
  /** Told of every error that reaches no caller: lost connections, rings that failed. */
  readonly onError: (error: Error) => void;
  /** Stands before every key. Its braces keep all keys in one hash slot of a cluster. */
  readonly prefix?: string | undefined;
  /** Must not contain `:`. */
  readonly queueName?: string | undefined;
  /** `arm`, `disarm` and `survey` give up when Redis is silent for so long. Below 2 s. */
  readonly armTimeoutMs?: number | undefined;
  /** Rings under way at once in this process. */
  readonly concurrency?: number | undefined;
  /** How long `stop` waits for rings under way. What outlasts it rings again elsewhere. */
  readonly stopTimeoutMs?: number | undefined;
  /** How often is looked whether the worker still takes what is due: one that does not is replaced. */
  readonly lookEveryMs?: number | undefined;
}

export const BULLMQ_DEFAULTS = {
  prefix: '{lc:alarms}',
  queueName: 'alarms',
  armTimeoutMs: 1_500,
  // A ring drains what is due until nothing is left, so a second one finds little to do.
  concurrency: 4,
  stopTimeoutMs: 15_000,
  lookEveryMs: 5_000,
} as const;
