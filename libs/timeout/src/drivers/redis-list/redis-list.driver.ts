import type { Clock } from '../../clock';
import type { Alarm, OnRing, Survey, TimerDriver } from '../../timer-driver';
import { AlarmHeap } from '../alarm-heap';
import { type RedisAlarmOptions, RedisAlarmStore } from '../redis-alarm-store';
import { type AlarmSource, RingLoop } from '../ring-loop';
import { OFFER, REMOVE, TRANSFER } from './list-scripts';
import { REDIS_LIST_ABILITIES } from './redis-list.abilities';

export interface RedisListOptions extends RedisAlarmOptions {
  /** "Now" by the database. */
  readonly databaseClock: Clock;
}

const KEYS = ['waiting', 'order', 'ready'] as const;
/** As Redisson's transfer: Redis serves nobody else meanwhile. */
const TRANSFERRED_AT_ONCE = 100;
const CHUNK = 500;
const PAGE = 1_000;
/** As Redisson looks again when nobody told it anything, and after an error. */
const POLL_MS = 1_000;

/**
 * Redisson's delayed queue: a sorted set of what waits, a list of the same in the order of arrival,
 * and a list of what is due, filled by a transfer script and popped by whoever is first. What was
 * popped by a process that dies is gone: the sweep's. For comparison, and for those who know it.
 */
export class RedisListDriver implements TimerDriver {
  readonly name = 'redis-list';
  readonly abilities = REDIS_LIST_ABILITIES;
  readonly #store: RedisAlarmStore;
  readonly #loop: RingLoop;
  readonly #clock: Clock;
  /** What rang early waits here: it is a matter of milliseconds, and of this machine's clock. */
  readonly #putBack = new AlarmHeap();
  #stopping: Promise<void> | undefined;

  constructor(options: RedisListOptions) {
    this.#clock = options.databaseClock;
    this.#store = new RedisAlarmStore(this.name, options);
    this.#loop = new RingLoop(this.#source(), {
      clock: this.#clock,
      onError: options.onError,
      batch: TRANSFERRED_AT_ONCE,
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
      await this.#store.run(OFFER, KEYS, [this.#store.key('wake'), ...pairs]);
    }
    for (const { at } of alarms) this.#loop.lookAt(at.getTime());
  }

  async disarm(ids: readonly string[]): Promise<void> {
    this.#store.refuseIfClosed();
    for (let start = 0; start < ids.length; start += CHUNK) {
      await this.#store.run(REMOVE, KEYS, ids.slice(start, start + CHUNK));
    }
    for (const id of ids) this.#putBack.remove(id);
  }

  async survey(): Promise<Survey> {
    const generation = await this.#store.generation();
    return { generation, alarms: () => this.#alarms() };
  }

  async *#alarms(): AsyncGenerator<Alarm> {
    const waiting = this.#store.key('waiting');
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const [next, pairs] = await this.#store.ask((client) =>
        client.zscan(waiting, cursor, 'COUNT', PAGE),
      );
      cursor = next;
      for (let i = 0; i < pairs.length; i += 2) {
        yield { id: pairs[i] as string, at: new Date(Number(pairs[i + 1])) };
      }
    }
    const ready = await this.#store.ask((client) => client.lrange(this.#store.key('ready'), 0, -1));
    yield* ready.map(readyAlarm);
    yield* this.#putBack.alarms();
  }

  #source(): AlarmSource {
    return {
      take: async (nowMs, limit) => {
        const next = (await this.#store.run(TRANSFER, KEYS, [nowMs, limit])) as string;
        const ready = this.#store.key('ready');
        const popped = await this.#store.call((client) => client.lpop(ready, limit));
        const due = [...(popped ?? []).map(readyAlarm), ...this.#putBack.takeDue(nowMs, limit)];
        const nextAtMs = Math.min(
          next ? Number(next) : Infinity,
          this.#putBack.firstAtMs ?? Infinity,
        );
        return { due, nextAtMs: nextAtMs === Infinity ? undefined : nextAtMs };
      },
      putBack: async (again) => {
        for (const { alarm, inMs } of again) this.#putBack.add(alarm, this.#clock.nowMs() + inMs);
      },
    };
  }

  async #stop(): Promise<void> {
    this.#store.close();
    await this.#loop.stop();
    await this.#store.hangUp();
  }
}

function readyAlarm(item: string): Alarm {
  const at = item.indexOf(':');
  return { id: item.slice(at + 1), at: new Date(Number(item.slice(0, at))) };
}
