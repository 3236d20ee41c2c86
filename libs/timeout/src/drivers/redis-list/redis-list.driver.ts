import type { Alarm } from '../../timer-driver';
import { AlarmHeap } from '../alarm-heap';
import { RedisLoopDriver, type RedisLoopOptions } from '../redis-loop-driver';
import type { AlarmSource } from '../ring-loop';
import { OFFER, REMOVE, TRANSFER } from './list-scripts';
import { REDIS_LIST_ABILITIES } from './redis-list.abilities';

const KEYS = ['waiting', 'order', 'ready'] as const;
/** As Redisson's transfer: Redis serves nobody else meanwhile. */
const TRANSFERRED_AT_ONCE = 100;
const PAGE = 1_000;

/**
 * Redisson's delayed queue: a sorted set of what waits, a list of the same in the order of arrival,
 * and a list of what is due, filled by a transfer script and popped by whoever is first. What was
 * popped by a process that dies is gone: the sweep's. For comparison, and for those who know it.
 */
export class RedisListDriver extends RedisLoopDriver {
  /** What rang early waits here: it is a matter of milliseconds, and of this machine's clock. */
  readonly #putBack = new AlarmHeap();

  constructor(options: RedisLoopOptions) {
    super('redis-list', REDIS_LIST_ABILITIES, options, { batch: TRANSFERRED_AT_ONCE });
  }

  protected armSome(alarms: readonly Alarm[]): Promise<unknown> {
    const pairs = alarms.flatMap(({ id, at }) => [id, at.getTime()]);
    return this.store.run(OFFER, KEYS, [this.store.key('wake'), ...pairs]);
  }

  protected async disarmSome(ids: readonly string[]): Promise<void> {
    await this.store.run(REMOVE, KEYS, ids);
    for (const id of ids) this.#putBack.remove(id);
  }

  protected async *alarms(): AsyncGenerator<Alarm> {
    const waiting = this.store.key('waiting');
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const [next, pairs] = await this.store.ask((client) =>
        client.zscan(waiting, cursor, 'COUNT', PAGE),
      );
      cursor = next;
      for (let i = 0; i < pairs.length; i += 2) {
        yield { id: pairs[i] as string, at: new Date(Number(pairs[i + 1])) };
      }
    }
    const ready = await this.store.ask((client) => client.lrange(this.store.key('ready'), 0, -1));
    yield* ready.map(readyAlarm);
    yield* this.#putBack.alarms();
  }

  protected source(): AlarmSource {
    return {
      take: async (nowMs, limit) => {
        const next = (await this.store.run(TRANSFER, KEYS, [nowMs, limit])) as string;
        const ready = this.store.key('ready');
        const popped = await this.store.call((client) => client.lpop(ready, limit));
        const due = [...(popped ?? []).map(readyAlarm), ...this.#putBack.takeDue(nowMs, limit)];
        const nextAtMs = Math.min(
          next ? Number(next) : Infinity,
          this.#putBack.firstAtMs ?? Infinity,
        );
        return { due, nextAtMs: nextAtMs === Infinity ? undefined : nextAtMs };
      },
      putBack: async (again) => {
        for (const { alarm, inMs } of again) this.#putBack.add(alarm, this.clock.nowMs() + inMs);
      },
    };
  }
}

function readyAlarm(item: string): Alarm {
  const at = item.indexOf(':');
  return { id: item.slice(at + 1), at: new Date(Number(item.slice(0, at))) };
}
