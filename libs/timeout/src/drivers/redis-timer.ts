import type { Clock } from '../clock';
import { hashTagCount, hashTags } from '../redis/hash-tags';
import type { RedisAddress } from '../redis/redis';
import type { TimerDriver, TimerAbilities } from '../timer-driver';
import type { TimerDriverContext, TimerDriverKind } from '../timer-driver-kind';
import { spread } from './spread-driver';

/** What the drivers in Redis are made of. */
export interface RedisTimerOptions {
  readonly redis: RedisAddress;
  readonly prefix: string;
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  readonly onError: (error: Error) => void;
}

export interface RedisTimer extends Pick<TimerDriverKind, 'defaultRank' | 'openBoard'> {
  readonly name: string;
  readonly summary: string;
  readonly abilities: TimerAbilities;
  /** What keys begin with behind the tag. */
  readonly suffix: string;
  /** Loads the driver, only where it is used. */
  readonly load: () => new (options: RedisTimerOptions) => TimerDriver;
}

/** A kind of driver that keeps its alarms in Redis, in a cluster over several hash tags. */
export function redisTimer({ suffix, load, ...kind }: RedisTimer): TimerDriverKind {
  return {
    ...kind,
    needs: ['REDIS_URL'],
    async create(parts) {
      const Driver = load();
      const { databaseClock, onError } = parts;
      return spread(
        placesOf(parts, suffix),
        (place) => new Driver({ ...place, databaseClock, onError }),
      );
    },
  };
}

/** Where alarms are: the braces keep all keys of one place in one hash slot of a cluster. */
export function placesOf(
  { settings, prefix }: TimerDriverContext,
  suffix = '',
): readonly Pick<RedisTimerOptions, 'redis' | 'prefix'>[] {
  const redis = settings.REDIS_URL as RedisAddress;
  const count = hashTagCount(redis, settings.REDIS_HASH_TAGS as number | undefined);
  return hashTags(`${prefix}:alarms`, count).map((tag) => ({ redis, prefix: `${tag}${suffix}` }));
}
