import { withTimeLimit } from '../../time-limit';
import type { Alarm } from '../../timer-driver';
import { AlarmHeap } from '../alarm-heap';
import { RedisLoopDriver, type RedisLoopOptions } from '../redis-loop-driver';
import type { AlarmSource } from '../ring-loop';
import { ARM, CLAIM, DISARM } from './keyspace-scripts';
import { REDIS_KEYSPACE_ABILITIES } from './redis-keyspace.abilities';

const KEYS = ['instants'] as const;
const PAGE = 1_000;
const LISTEN_LIMIT_MS = 1_000;
/** Heard of by nobody for so long after its instant, an alarm is lost. */
const LOST_AFTER_MS = 60_000;

/**
 * A key for each alarm, that expires at its instant, and a subscription to what has expired. For
 * comparison: a notification is a hint that comes when Redis happens to look, to whoever listens
 * then, and never again. Each is heard by all; the first to claim it rings.
 */
export class RedisKeyspaceDriver extends RedisLoopDriver {
  /** Heard of, and not claimed yet. */
  readonly #expired = new Set<string>();
  readonly #putBack = new AlarmHeap();

  constructor(private readonly options: RedisLoopOptions) {
    super('redis-keyspace', REDIS_KEYSPACE_ABILITIES, options);
  }

  /** Resolves when it listens, or a second later: what expires until then is lost. */
  protected override async listen(): Promise<void> {
    const prefix = this.store.key('at:');
    await this.#switchOn();
    const listening = this.store.listenToEachNode({
      // Of whichever database: what is not ours is claimed by nobody.
      pattern: '__keyevent@*__:expired',
      onMessage: (key) => {
        if (!key.startsWith(prefix)) return;
        this.#expired.add(key.slice(prefix.length));
        this.loop.lookAt(-Infinity);
      },
      // A server that was started again has forgotten it.
      onBack: () => void this.#switchOn(),
    });
    // While Redis is away nobody waits for it longer.
    await withTimeLimit(listening, LISTEN_LIMIT_MS, 'not yet').catch(() => undefined);
  }

  protected armSome(alarms: readonly Alarm[]): Promise<unknown> {
    const nowMs = this.clock.nowMs();
    const args = alarms.flatMap(({ id, at }) => {
      const atMs = at.getTime();
      return [id, atMs, Math.max(1, Math.ceil(atMs - nowMs))];
    });
    return this.store.run(ARM, KEYS, [this.store.key('at:'), ...args]);
  }

  protected async disarmSome(ids: readonly string[]): Promise<void> {
    await this.store.run(DISARM, KEYS, [this.store.key('at:'), ...ids]);
    for (const id of ids) this.#putBack.remove(id);
  }

  protected async *alarms(): AsyncGenerator<Alarm> {
    const key = this.store.key('instants');
    const lostBeforeMs = this.clock.nowMs() - LOST_AFTER_MS;
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const [next, pairs] = await this.store.ask((client) =>
        client.hscan(key, cursor, 'COUNT', PAGE),
      );
      cursor = next;
      const alarms = pairs.flatMap((id, i) =>
        i % 2 === 0 ? [{ id, at: new Date(Number(pairs[i + 1])) }] : [],
      );
      const lost = alarms.filter(({ at }) => at.getTime() < lostBeforeMs).map(({ id }) => id);
      if (lost.length > 0) await this.store.ask((client) => client.hdel(key, ...lost));
      yield* alarms.filter(({ at }) => at.getTime() >= lostBeforeMs);
    }
    yield* this.#putBack.alarms();
  }

  protected source(): AlarmSource {
    return {
      take: async (nowMs, limit) => {
        const ids = [...this.#expired].slice(0, limit);
        const instants =
          ids.length > 0 ? ((await this.store.run(CLAIM, KEYS, ids)) as string[]) : [];
        for (const id of ids) this.#expired.delete(id);
        const claimed = ids.flatMap((id, i) =>
          instants[i] ? [{ id, at: new Date(Number(instants[i])) }] : [],
        );
        const due = [...claimed, ...this.#putBack.takeDue(nowMs, limit)];
        const more = this.#expired.size > 0 ? nowMs : undefined;
        return { due, nextAtMs: more ?? this.#putBack.firstAtMs };
      },
      putBack: async (again) => {
        for (const { alarm, inMs } of again) this.#putBack.add(alarm, this.clock.nowMs() + inMs);
      },
    };
  }

  /** Adds what we need to what is switched on. Where CONFIG is not allowed, an operator has to. */
  async #switchOn(): Promise<void> {
    try {
      await this.store.tellEachNode(async (client) => {
        const [, flags = ''] = (await client.config('GET', 'notify-keyspace-events')) as string[];
        if (flags.includes('E') && /[xA]/.test(flags)) return;
        await client.config('SET', 'notify-keyspace-events', `${flags}Ex`);
      });
    } catch (error) {
      if (!this.isStopping) this.options.onError(error as Error);
    }
  }
}
