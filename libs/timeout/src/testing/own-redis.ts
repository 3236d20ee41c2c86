import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../../../../scripts/services/index.mjs';

/** On a machine that does other things as well. */
const START_LIMIT_MS = 25_000;
const PROBE_INTERVAL_MS = 20;

/** A Redis server of a test's own, to be killed, frozen, emptied and started again at will. */
export class OwnRedis {
  #process: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly more: Readonly<Record<string, string | number>>,
  ) {}

  /**
   * Starts one that writes every command to its append-only file before it answers. What it has written
   * outlives a kill; a disk that takes seconds, as after an installation, is not waited for.
   * @param more settings beside these
   */
  static async start(more: Readonly<Record<string, string | number>> = {}): Promise<OwnRedis> {
    const folder = await mkdtemp(join(tmpdir(), 'lastcall-own-redis-'));
    const redis = new OwnRedis(await freePort(), folder, more);
    await redis.start();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** With the data it had when it was killed. */
  async start(): Promise<void> {
    const binary = process.env.TEST_REDIS_BIN;
    if (!binary) throw new Error('TEST_REDIS_BIN names no redis-server: run the tests by npm test');
    const settings = {
      ...{ bind: '127.0.0.1', port: this.port, dir: this.folder, save: '', hz: 100 },
      ...{ appendonly: 'yes', appendfsync: 'no', 'maxmemory-policy': 'noeviction' },
      // It would wait for five seconds whether more replicas come.
      'repl-diskless-sync-delay': 0,
      ...this.more,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    this.#process = spawn(binary, args, { stdio: 'ignore' });
    await this.#untilItAnswers();
  }

  async kill(): Promise<void> {
    const server = this.#process;
    this.#process = undefined;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, 'exit');
    server.kill('SIGCONT');
    server.kill('SIGKILL');
    await gone;
  }

  /** It keeps its connections and accepts new ones, and says nothing any more. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Runs `ask` on a connection of the test's own. */
  async with<T>(ask: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(this.url, {
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
      maxLoadingRetryTime: PROBE_INTERVAL_MS,
      // A connection that failed keeps the process for so long when it is hung up.
      disconnectTimeout: 50,
    });
    // What goes wrong rejects the call.
    client.on('error', () => undefined);
    try {
      return await ask(client);
    } finally {
      client.disconnect();
    }
  }

  /** How many clients are connected, the one that asks left out. */
  async connections(): Promise<number> {
    const list = (await this.with((client) => client.client('LIST'))) as string;
    return list.trim().split('\n').length - 1;
  }

  /** It forgets everything. */
  async flush(): Promise<void> {
    await this.with((client) => client.flushall());
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #untilItAnswers(): Promise<void> {
    const giveUpAt = performance.now() + START_LIMIT_MS;
    for (;;) {
      try {
        await this.with((client) => client.ping());
        return;
      } catch (error) {
        if (performance.now() > giveUpAt || this.#process?.exitCode != null) throw error;
        await delay(PROBE_INTERVAL_MS);
      }
    }
  }
}
