import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './own-redis';

const START_LIMIT_MS = 15_000;
const PROBE_INTERVAL_MS = 30;
const SLOTS = 16_384;

interface Node {
  readonly port: number;
  readonly busPort: number;
  readonly folder: string;
  process?: ChildProcess;
}

/** A Redis Cluster of a test's own: three masters, without replicas. */
export class OwnCluster {
  private constructor(
    private readonly folder: string,
    private readonly nodes: readonly Node[],
  ) {}

  static async start(): Promise<OwnCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'lastcall-own-cluster-'));
    const nodes: Node[] = [];
    for (let n = 0; n < 3; n++) {
      const [port, busPort] = [await freePort(), await freePort()];
      nodes.push({ port, busPort, folder: join(folder, `${n}`) });
      await mkdir(join(folder, `${n}`));
    }
    const cluster = new OwnCluster(folder, nodes);
    await Promise.all(nodes.map((node) => cluster.#spawn(node)));
    await cluster.#form();
    await cluster.#untilWhole();
    return cluster;
  }

  get url(): string {
    return `redis://${this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  /** All nodes, with what they have on disk. */
  async start(): Promise<void> {
    await Promise.all(this.nodes.map((node) => this.#spawn(node)));
    await this.#untilWhole();
  }

  /** All nodes, at once. */
  async kill(): Promise<void> {
    await Promise.all(this.nodes.map((_, index) => this.killMaster(index)));
  }

  /** With it its slots: the whole cluster refuses. */
  async killMaster(index: number): Promise<void> {
    const server = this.nodes[index]?.process;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, 'exit');
    server.kill('SIGCONT');
    server.kill('SIGKILL');
    await gone;
  }

  freeze(): void {
    for (const { process } of this.nodes) process?.kill('SIGSTOP');
  }

  thaw(): void {
    for (const { process } of this.nodes) process?.kill('SIGCONT');
  }

  async flush(): Promise<void> {
    await this.#onAll((client) => client.flushall());
  }

  /** Without those of the cluster's nodes, and of whoever asks. */
  async connections(): Promise<number> {
    const counts = await this.#onAll(async (client) => {
      const list = (await client.client('LIST')) as string;
      return list.trim().split('\n').length - 1;
    });
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #spawn(node: Node): Promise<void> {
    if (node.process && node.process.exitCode === null && node.process.signalCode === null) return;
    const binary = process.env.TEST_REDIS_BIN;
    if (!binary) throw new Error('TEST_REDIS_BIN names no redis-server: run the tests by npm test');
    const settings = {
      ...{ bind: '127.0.0.1', port: node.port, 'cluster-port': node.busPort, dir: node.folder },
      ...{ 'cluster-enabled': 'yes', 'cluster-node-timeout': 1_000, save: '', hz: 100 },
      ...{ appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' },
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    node.process = spawn(binary, args, { stdio: 'ignore' });
    await this.#until(() => onNode(node.port, (client) => client.ping()));
  }

  async #form(): Promise<void> {
    const share = Math.ceil(SLOTS / this.nodes.length);
    const [first] = this.nodes as [Node];
    for (const [index, { port, busPort }] of this.nodes.entries()) {
      const range = [index * share, Math.min(SLOTS, (index + 1) * share) - 1];
      await onNode(port, (client) => client.call('CLUSTER', 'ADDSLOTSRANGE', ...range));
      await onNode(first.port, (client) =>
        client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort),
      );
    }
  }

  async #untilWhole(): Promise<void> {
    await this.#until(async () => {
      const infos = await this.#onAll((client) => client.call('CLUSTER', 'INFO'));
      const isWhole = infos.every((info) => /state:ok[^]*known_nodes:3/.test(String(info)));
      if (!isWhole) throw new Error('the cluster is not whole yet');
    });
  }

  #onAll<T>(ask: (client: Redis) => Promise<T>): Promise<T[]> {
    return Promise.all(this.nodes.map(({ port }) => onNode(port, ask)));
  }

  async #until(ask: () => Promise<unknown>): Promise<void> {
    const giveUpAt = performance.now() + START_LIMIT_MS;
    for (;;) {
      try {
        await ask();
        return;
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, PROBE_INTERVAL_MS));
      }
    }
  }
}

async function onNode<T>(port: number, ask: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(port, '127.0.0.1', {
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    disconnectTimeout: 50,
  });
  client.on('error', () => undefined);
  try {
    return await ask(client);
  } finally {
    client.disconnect();
  }
}
