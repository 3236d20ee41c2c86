import { randomUUID } from 'node:crypto';
import { Cluster, type Redis, type RedisOptions } from 'ioredis';
import { bytesHeard, FAIL_FAST, openRedis, PATIENT, type RedisAddress } from '../redis/redis';
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
/** `#hear` listens again itself: ioredis would leave a refusal, or a connection that was hung up meanwhile, to nobody. */
const LISTENING: RedisOptions = { ...PATIENT, autoResubscribe: false };

interface Listening {
  /** Of channels. */
  readonly pattern: string;
  readonly onMessage: (message: string) => void;
  /** News may be lost: this is a new connection. */
  readonly onBack: () => void;
}

/** What drivers in Redis share: a connection that never keeps anybody waiting, and one that listens. */
export class RedisAlarmStore {
  #client: Redis | undefined;
  readonly #subscribers = new Set<Pick<Redis, 'disconnect'>>();
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

  /** Listens until the end. Resolves when it listens for the first time. */
  async listen(listening: Listening): Promise<void> {
    if (this.#isClosed) return;
    const { redis, onError } = this.options;
    await this.#hear(openRedis(redis, LISTENING, onError), listening);
  }

  /** As `listen`, to all nodes of a cluster: what a node tells of its own keys is heard there alone. */
  async listenToEachNode(listening: Listening): Promise<void> {
    if (this.#isClosed) return;
    const { redis, onError } = this.options;
    const client = openRedis(redis, LISTENING, onError) as Redis | Cluster;
    if (!(client instanceof Cluster)) return this.#hear(client, listening);
    this.#subscribers.add(client);
    const nodes = new Map<Redis, { readonly own: Redis; readonly hearing: Promise<void> }>();
    client.on('+node', (node: Redis) => {
      if (this.#isClosed) return;
      const own = node.duplicate(LISTENING);
      own.on('error', onError);
      nodes.set(node, { own, hearing: this.#hear(own, listening) });
    });
    client.on('-node', (node: Redis) => {
      const gone = nodes.get(node)?.own;
      gone?.disconnect();
      if (gone) this.#subscribers.delete(gone);
      nodes.delete(node);
    });
    await new Promise((resolve) => client.once('ready', resolve));
    await Promise.all([...nodes.values()].map(({ hearing }) => hearing));
  }

  /** Tells each node of a cluster, or the one server there is. */
  async tellEachNode(call: (node: Redis) => Promise<void>): Promise<void> {
    await this.call((client: Redis | Cluster) => {
      const nodes = client instanceof Cluster ? client.nodes('all') : [client];
      return Promise.all(nodes.map(call));
    });
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
    for (const subscriber of this.#subscribers) subscriber.disconnect();
  }

  async hangUp(): Promise<void> {
    const client = this.#client;
    if (!client) return;
    await withTimeLimit(client.quit(), GOODBYE_LIMIT_MS, 'No goodbye').catch(() =>
      // It is away; there is nobody to take leave of.
      client.disconnect(),
    );
  }

  async #hear(subscriber: Redis, { pattern, onMessage, onBack }: Listening): Promise<void> {
    this.#subscribers.add(subscriber);
    subscriber.on('pmessage', (_, __, message: string) => onMessage(message));
    const subscribe = async (): Promise<void> => {
      try {
        await subscriber.psubscribe(pattern);
        onBack();
      } catch (error) {
        if (!this.#isClosed) this.options.onError(error as Error);
      }
    };
    subscriber.on('ready', () => void subscribe());
    await subscribe();
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
