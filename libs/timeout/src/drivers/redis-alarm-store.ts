import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { bytesHeard, FAIL_FAST, openRedis, PATIENT, type RedisAddress } from '../redis';
import { TimeLimitError, withTimeLimit } from '../time-limit';
import { AlarmStoreError } from './alarm-store.error';

export interface RedisAlarmOptions {
  readonly redis: RedisAddress;
  /** Stands before every key. Its braces keep all of them in one hash slot of a cluster. */
  readonly prefix: string;
  readonly onError: (error: Error) => void;
  /** A call gives up when Redis is silent for so long. Below 2 s. */
  readonly callTimeoutMs?: number;
}

const CALL_TIMEOUT_MS = 1_500;
const GOODBYE_LIMIT_MS = 300;

/** What drivers in Redis share: a connection that never keeps anybody waiting, and one that listens. */
export class RedisAlarmStore {
  #client: Redis | undefined;
  #subscriber: Redis | undefined;
  #firstConnection: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    readonly name: string,
    private readonly options: RedisAlarmOptions,
  ) {}

  key(name: string): string {
    return `${this.options.prefix}:${name}`;
  }

  /** A call of somebody outside: refused once the driver was stopped. */
  ask<T>(call: (client: Redis) => Promise<T>): Promise<T> {
    this.refuseIfClosed();
    return this.call(call);
  }

  /** Talks to Redis in bounded time; a connection that went silent is replaced. */
  async call<T>(call: (client: Redis) => Promise<T>): Promise<T> {
    const client = (this.#client ??= this.#open());
    const heard = bytesHeard(client);
    try {
      // The first use waits for the connection, every later one fails at once without it.
      const answer = (this.#firstConnection as Promise<void>).then(() => call(client));
      const limitMs = this.options.callTimeoutMs ?? CALL_TIMEOUT_MS;
      return await withTimeLimit(answer, limitMs, 'Redis did not answer');
    } catch (error) {
      const silent = error instanceof TimeLimitError && bytesHeard(client) === heard;
      // What piles up behind a silent connection would be sent long after it mattered.
      if (silent && client.status === 'ready') client.disconnect(true);
      throw new AlarmStoreError('The alarm store (Redis) did not take a call', error);
    }
  }

  /** Runs a script by its text; ioredis sends it once and its digest from then on. */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]) {
    return this.call((client) => {
      const scripts = client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
      if (!scripts[script.name]) client.defineCommand(script.name, { lua: script.lua });
      return (scripts[script.name] as (...args: unknown[]) => Promise<unknown>).call(
        client,
        ...[keys.length, ...keys.map((key) => this.key(key)), ...args],
      );
    });
  }

  /**
   * Listens to what fits a pattern of channels until the end; after each new connection `onBack` is
   * told that news may be lost. Resolves when it listens for the first time.
   */
  async listen(
    pattern: string,
    onMessage: (message: string) => void,
    onBack: () => void,
  ): Promise<void> {
    const subscriber = openRedis(this.options.redis, PATIENT, this.options.onError);
    this.#subscriber = subscriber;
    subscriber.on('pmessage', (_, __, message: string) => onMessage(message));
    // ioredis subscribes again by itself when a connection was lost.
    subscriber.on('ready', onBack);
    try {
      await subscriber.psubscribe(pattern);
      onBack();
    } catch (error) {
      if (!this.#isClosed) this.options.onError(error as Error);
    }
  }

  /** A marker that is lost with everything else: by FLUSHALL, by an empty disk, by eviction. */
  async generation(): Promise<string> {
    const key = this.key('generation');
    const generation = await this.ask(async (client) => {
      await client.set(key, randomUUID(), 'NX');
      return client.get(key);
    });
    if (generation === null) throw new AlarmStoreError('The marker vanished as it was written');
    return generation;
  }

  refuseIfClosed(): void {
    if (this.#isClosed) throw new AlarmStoreError(`The ${this.name} driver was stopped`);
  }

  /** No new calls from outside; rings under way still take note of themselves. */
  close(): void {
    this.#isClosed = true;
    this.#subscriber?.disconnect();
  }

  async hangUp(): Promise<void> {
    const client = this.#client;
    if (!client) return;
    await withTimeLimit(client.quit(), GOODBYE_LIMIT_MS, 'No goodbye').catch(() =>
      // It is away; there is nobody to take leave of.
      client.disconnect(),
    );
  }

  #open(): Redis {
    const client = openRedis(this.options.redis, FAIL_FAST, this.options.onError);
    this.#firstConnection = new Promise((resolve) => {
      client.once('ready', resolve).once('close', resolve);
    });
    return client;
  }
}

export interface RedisScript {
  readonly name: string;
  readonly lua: string;
}
