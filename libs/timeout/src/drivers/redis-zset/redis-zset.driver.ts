import type { Clock } from '../../clock';
import type { Alarm, OnRing, Survey, TimerDriver } from '../../timer-driver';
import { type RedisAlarmOptions, RedisAlarmStore } from '../redis-alarm-store';
import { type AlarmSource, RingLoop } from '../ring-loop';
import { REDIS_ZSET_ABILITIES } from './redis-zset.abilities';
import { ARM, DISARM, FORGET, PUT_BACK, TAKE } from './zset-scripts';

export interface RedisZsetOptions extends RedisAlarmOptions {
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  /** An alarm that was taken and not rung to its end rings again after so long. */
  readonly leaseMs?: number;
}

const KEYS = ['armed', 'leased', 'instants'] as const;
const LEASE_MS = 30_000;
/** A script serves nobody else meanwhile: this is well below a millisecond. */
const CHUNK = 500;
const PAGE = 1_000;
/** For clocks that are set, and news that got lost. */
const POLL_MS = 1_000;

/**
 * Alarms as members of a sorted set, taken by a script that leases them. Everybody sleeps until
 * the first is due; who arms one before all others publishes that, once.
 */
export class RedisZsetDriver implements TimerDriver {
  readonly name = 'redis-zset';
  readonly abilities = REDIS_ZSET_ABILITIES;
  readonly #store: RedisAlarmStore;
  readonly #loop: RingLoop;
  readonly #clock: Clock;
  #stopping: Promise<void> | undefined;

  constructor(private readonly options: RedisZsetOptions) {
    this.#clock = options.databaseClock;
    this.#store = new RedisAlarmStore(this.name, options);
    this.#loop = new RingLoop(this.#source(), {
      clock: this.#clock,
      onError: options.onError,
      batch: CHUNK,
      longestWaitMs: () => POLL_MS,
    });
  }

  /** Resolves at once, also while Redis is away: ringing begins when it is there. */
  async start(onRing: OnRing): Promise<void> {
    this.#store.refuseIfClosed();
    if (this.#loop.isStarted) return;
    const look = (): void => this.#loop.lookAt(-Infinity);
    const pattern = this.#store.key('wake');
    void this.#store.listen({ pattern, onMessage: look, onBack: look });
    this.#loop.start(onRing);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.#store.refuseIfClosed();
    for (let start = 0; start < alarms.length; start += CHUNK) {
      const chunk = alarms.slice(start, start + CHUNK);
      const pairs = chunk.flatMap(({ id, at }) => [id, at.getTime()]);
      await this.#store.run(ARM, KEYS, [this.#store.key('wake'), ...pairs]);
    }
    for (const { at } of alarms) this.#loop.lookAt(at.getTime());
  }

  async disarm(ids: readonly string[]): Promise<void> {
    this.#store.refuseIfClosed();
    for (let start = 0; start < ids.length; start += CHUNK) {
      await this.#store.run(DISARM, KEYS, ids.slice(start, start + CHUNK));
    }
  }

  async survey(): Promise<Survey> {
    const generation = await this.#store.generation();
    return { generation, alarms: () => this.#alarms() };
  }

  async *#alarms(): AsyncGenerator<Alarm> {
    const [armed, , instants] = KEYS.map((key) => this.#store.key(key)) as [string, string, string];
    // ZSCAN rather than pages by rank: alarms ringing meanwhile would shift those and hide some.
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const [next, pairs] = await this.#store.ask((client) =>
        client.zscan(armed, cursor, 'COUNT', PAGE),
      );
      cursor = next;
      const ids = pairs.filter((_, index) => index % 2 === 0);
      if (ids.length === 0) continue;
      const putBack = await this.#store.ask((client) => client.hmget(instants, ...ids));
      yield* ids.map((id, i) => ({ id, at: new Date(Number(putBack[i] ?? pairs[2 * i + 1])) }));
    }
  }

  #source(): AlarmSource {
    const leaseMs = this.options.leaseMs ?? LEASE_MS;
    return {
      take: async (nowMs, limit) => {
        const args = [nowMs, limit, nowMs + leaseMs];
        const answer = (await this.#store.run(TAKE, KEYS, args)) as string[];
        const next = answer.pop();
        const due: Alarm[] = [];
        for (let i = 0; i + 1 < answer.length; i += 2) {
          due.push({ id: answer[i] as string, at: new Date(Number(answer[i + 1])) });
        }
        return { due, nextAtMs: next ? Number(next) : undefined };
      },
      forget: async (rung) => {
        await this.#store.run(
          FORGET,
          KEYS,
          rung.map(({ id }) => id),
        );
      },
      putBack: async (again) => {
        const nowMs = this.#clock.nowMs();
        const args = again.flatMap(({ alarm, inMs }) => [
          alarm.id,
          nowMs + inMs,
          alarm.at.getTime(),
        ]);
        await this.#store.run(PUT_BACK, KEYS, args);
      },
    };
  }

  async #stop(): Promise<void> {
    this.#store.close();
    await this.#loop.stop();
    await this.#store.hangUp();
  }
}
