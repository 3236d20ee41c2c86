import type { Alarm } from '../../timer-driver';
import { RedisLoopDriver, type RedisLoopOptions } from '../redis-loop-driver';
import type { AlarmSource } from '../ring-loop';
import { REDIS_ZSET_ABILITIES } from './redis-zset.abilities';
import { ARM, DISARM, FORGET, PUT_BACK, TAKE } from './zset-scripts';

export interface RedisZsetOptions extends RedisLoopOptions {
  /** An alarm that was taken and not rung to its end rings again after so long. */
  readonly leaseMs?: number;
}

const KEYS = ['armed', 'leased', 'instants'] as const;
const LEASE_MS = 30_000;
const PAGE = 1_000;

/**
 * Alarms as members of a sorted set, taken by a script that leases them. Everybody sleeps until
 * the first is due; who arms one before all others publishes that, once.
 */
export class RedisZsetDriver extends RedisLoopDriver {
  constructor(private readonly options: RedisZsetOptions) {
    super('redis-zset', REDIS_ZSET_ABILITIES, options);
  }

  protected armSome(alarms: readonly Alarm[]): Promise<unknown> {
    const pairs = alarms.flatMap(({ id, at }) => [id, at.getTime()]);
    return this.store.run(ARM, KEYS, [this.store.key('wake'), ...pairs]);
  }

  protected disarmSome(ids: readonly string[]): Promise<unknown> {
    return this.store.run(DISARM, KEYS, ids);
  }

  protected async *alarms(): AsyncGenerator<Alarm> {
    const [armed, , instants] = KEYS.map((key) => this.store.key(key)) as [string, string, string];
    // ZSCAN rather than pages by rank: alarms ringing meanwhile would shift those and hide some.
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const [next, pairs] = await this.store.ask((client) =>
        client.zscan(armed, cursor, 'COUNT', PAGE),
      );
      cursor = next;
      const ids = pairs.filter((_, index) => index % 2 === 0);
      if (ids.length === 0) continue;
      const putBack = await this.store.ask((client) => client.hmget(instants, ...ids));
      yield* ids.map((id, i) => ({ id, at: new Date(Number(putBack[i] ?? pairs[2 * i + 1])) }));
    }
  }

  protected source(): AlarmSource {
    return {
      take: async (nowMs, limit) => {
        const leaseMs = this.options.leaseMs ?? LEASE_MS;
        const args = [nowMs, limit, nowMs + leaseMs];
        const answer = (await this.store.run(TAKE, KEYS, args)) as string[];
        const next = answer.pop();
        const due: Alarm[] = [];
        for (let i = 0; i + 1 < answer.length; i += 2) {
          due.push({ id: answer[i] as string, at: new Date(Number(answer[i + 1])) });
        }
        return { due, nextAtMs: next ? Number(next) : undefined };
      },
      forget: async (rung) => {
        await this.store.run(
          FORGET,
          KEYS,
          rung.map(({ id }) => id),
        );
      },
      putBack: async (again) => {
        const nowMs = this.clock.nowMs();
        const args = again.flatMap(({ alarm, inMs }) => [
          alarm.id,
          nowMs + inMs,
          alarm.at.getTime(),
        ]);
        await this.store.run(PUT_BACK, KEYS, args);
      },
    };
  }
}
