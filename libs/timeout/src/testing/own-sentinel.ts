import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../../scripts/services/index.mjs';

/** On a machine that does other things as well. */
const START_LIMIT_MS = 50_000;
const MASTER = 'shop';

/** A master, a replica, and one sentinel that makes the replica master when the master is gone. */
export class OwnSentinel {
  readonly #processes: ChildProcess[] = [];

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly master: number,
  ) {}

  static async start(): Promise<OwnSentinel> {
    const folder = await mkdtemp(join(tmpdir(), 'lastcall-own-sentinel-'));
    const [master, replica, port] = [await freePort(), await freePort(), await freePort()];
    const own = new OwnSentinel(folder, port, master);
    await own.#spawn(master, []);
    await own.#spawn(replica, ['--replicaof', '127.0.0.1', `${master}`]);
    await own.#until(async () => {
      const info = await ask(replica, (client) => client.info('replication'));
      if (!info.includes('master_link_status:up')) throw new Error('not replicated yet');
    });
    await own.#spawnSentinel(master);
    await own.#until(async () => {
      const [of] = (await ask(port, (client) =>
        client.call('SENTINEL', 'REPLICAS', MASTER),
      )) as unknown[];
      if (!of) throw new Error('the sentinel does not know the replica yet');
    });
    return own;
  }

  get url(): string {
    return `redis+sentinel://127.0.0.1:${this.port}/${MASTER}`;
  }

  /** Once the replica has what it was given; some time later the replica is master. */
  async killMaster(): Promise<void> {
    const [master] = this.#processes as [ChildProcess];
    await ask(this.master, async (client) => {
      // A client waits for its own writes, and all before them.
      await client.set('replicated', 'so far');
      if ((await client.wait(1, 5_000)) !== 1) throw new Error('the replica does not follow');
    });
    const soon = ['SENTINEL', 'SET', MASTER, 'down-after-milliseconds', '500'] as const;
    await ask(this.port, (client) => client.call(...soon));
    const gone = once(master, 'exit');
    master.kill('SIGKILL');
    await gone;
  }

  async remove(): Promise<void> {
    for (const server of this.#processes) {
      if (server.exitCode !== null || server.signalCode !== null) continue;
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #spawnSentinel(master: number): Promise<void> {
    const file = join(this.folder, 'sentinel.conf');
    const lines = [
      `port ${this.port}`,
      'bind 127.0.0.1',
      `dir ${this.folder}`,
      `sentinel monitor ${MASTER} 127.0.0.1 ${master} 1`,
      // A machine that stands still is no dead master: `killMaster` has it noticed soon.
      `sentinel down-after-milliseconds ${MASTER} 60000`,
      `sentinel failover-timeout ${MASTER} 2000`,
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    await this.#run(this.port, [file, '--sentinel']);
  }

  async #spawn(port: number, more: readonly string[]): Promise<void> {
    const dir = join(this.folder, `${port}`);
    await mkdir(dir);
    const settings = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', dir, '--save', ''];
    // A replica is ready at once.
    await this.#run(port, [...settings, '--repl-diskless-sync-delay', '0', ...more]);
  }

  async #run(port: number, args: readonly string[]): Promise<void> {
    const binary = process.env.TEST_REDIS_BIN;
    if (!binary) throw new Error('TEST_REDIS_BIN names no redis-server: run the tests by npm test');
    this.#processes.push(spawn(binary, args, { stdio: 'ignore' }));
    await this.#until(() => ask(port, (client) => client.ping()));
  }

  async #until(look: () => Promise<unknown>): Promise<void> {
    const giveUpAt = performance.now() + START_LIMIT_MS;
    for (;;) {
      try {
        await look();
        return;
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}

async function ask<T>(port: number, question: (client: Redis) => Promise<T>): Promise<T> {
  const options = { retryStrategy: () => null, maxRetriesPerRequest: 0, disconnectTimeout: 50 };
  const client = new Redis(port, '127.0.0.1', options);
  client.on('error', () => undefined);
  try {
    return await question(client);
  } finally {
    client.disconnect();
  }
}
