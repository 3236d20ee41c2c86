import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../../scripts/services/index.mjs';

/** On a machine that does other things as well. */
const START_LIMIT_MS = 50_000;
const PROBE_INTERVAL_MS = 30;
const SLOTS = 16_384;
const MASTERS = 3;

interface Node {
  readonly port: number;
  readonly busPort: number;
  readonly folder: string;
  process?: ChildProcess;
}

/** A Redis Cluster of a test's own: three masters, each with a replica where asked for. */
export class OwnCluster {
  private constructor(
    private readonly folder: string,
    private readonly nodes: readonly Node[],
  ) {}

  static async start({ replicas = false } = {}): Promise<OwnCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'lastcall-own-cluster-'));
    const nodes: Node[] = [];
    for (let n = 0; n < (replicas ? 2 * MASTERS : MASTERS); n++) {
      const [port, busPort] = [await freePort(), await freePort()];
      nodes.push({ port, busPort, folder: join(folder, `${n}`) });
      await mkdir(join(folder, `${n}`));
    }
    const cluster = new OwnCluster(folder, nodes);
    await Promise.all(nodes.map((node) => cluster.#spawn(node)));
    await cluster.#form();
    await cluster.#untilWhole();
    await cluster.#replicate();
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

  /** The replica of this master has what the master has by now. */
  async untilCaughtUp(index: number): Promise<void> {
    const { port } = this.nodes[index] as Node;
    const offsets = async (): Promise<{ has: number; gave: number }> => {
      const info = await onNode(port, (client) => client.info('replication'));
      const find = (pattern: RegExp): number => Number(pattern.exec(info)?.[1] ?? NaN);
      return { has: find(/master_repl_offset:(\d+)/), gave: find(/slave0:\S*offset=(\d+)/) };
    };
    const { has } = await offsets();
    await this.#until(async () => {
      const { gave } = await offsets();
      if (!(gave >= has)) throw new Error(`the replica has ${gave} of ${has} bytes`);
    });
  }

  /** The number of the node that is the master of this key's slot now. */
  async masterOf(key: string): Promise<number> {
    const slot = await this.#ask((client) => client.cluster('KEYSLOT', key));
    const table = await this.#ask((client) => client.cluster('SLOTS'));
    const range = table.find(([from, to]) => from <= slot && slot <= to);
    return this.nodes.findIndex(({ port }) => port === range?.[2]?.[1]);
  }

  /** Gives this key's slot to the next master, keys and all, as an operator's tool does. */
  async moveSlotOf(key: string): Promise<void> {
    const slot = await this.#ask((client) => client.cluster('KEYSLOT', key));
    const from = await this.masterOf(key);
    const to = (await this.#masters()).find((index) => index !== from) as number;
    const [source, target] = [from, to].map((index) => (this.nodes[index] as Node).port) as [
      number,
      number,
    ];
    const [sourceId, targetId] = await Promise.all(
      [source, target].map((port) => onNode(port, (c) => c.call('CLUSTER', 'MYID'))),
    );
    const set = (port: number, ...state: unknown[]): Promise<unknown> =>
      onNode(port, (client) => client.call('CLUSTER', 'SETSLOT', slot, ...state.map(String)));
    await set(target, 'IMPORTING', sourceId);
    await set(source, 'MIGRATING', targetId);
    await onNode(source, async (client) => {
      for (;;) {
        const keys = (await client.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
        if (keys.length === 0) return;
        await client.call('MIGRATE', '127.0.0.1', target, '', 0, 5_000, 'KEYS', ...keys);
      }
    });
    for (const port of [target, source]) await set(port, 'NODE', targetId);
  }

  /** The numbers of those who are masters now. */
  async #masters(): Promise<number[]> {
    const table = await this.#ask((client) => client.cluster('SLOTS'));
    const ports = new Set(table.map(([, , master]) => master?.[1]));
    return this.nodes.flatMap(({ port }, index) => (ports.has(port) ? [index] : []));
  }

  /** All masters at once: no replica can win an election, and the whole cluster refuses. */
  async killAllMasters(): Promise<void> {
    const masters = await this.#masters();
    await Promise.all(masters.map((index) => this.killMaster(index)));
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

  /** Without those of the cluster's nodes, which come and go as they like, and of whoever asks. */
  async connections(): Promise<number> {
    const counts = await this.#onAll(async (client) => {
      const list = (await client.client('LIST')) as string;
      const clients = list.split('\n').filter((line) => /flags=[^SM ]+ /.test(line));
      return clients.length - 1;
    });
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** How often its nodes together were asked this command. */
  async callsOf(command: string): Promise<number> {
    const infos = await this.#onAll((client) => client.info('commandstats'));
    const calls = infos.map(
      (info) => new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(info)?.[1],
    );
    return calls.reduce((sum, text) => sum + Number(text ?? 0), 0);
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
      ...{ appendonly: 'yes', appendfsync: 'no', 'maxmemory-policy': 'noeviction' },
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    node.process = spawn(binary, args, { stdio: 'ignore' });
    await this.#until(() => onNode(node.port, (client) => client.ping()));
  }

  async #form(): Promise<void> {
    const share = Math.ceil(SLOTS / MASTERS);
    const [first] = this.nodes as [Node];
    for (const [index, { port, busPort }] of this.nodes.entries()) {
      const range = [index * share, Math.min(SLOTS, (index + 1) * share) - 1];
      if (index < MASTERS) {
        await onNode(port, (client) => client.call('CLUSTER', 'ADDSLOTSRANGE', ...range));
      }
      await onNode(first.port, (client) =>
        client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort),
      );
    }
  }

  /** The nodes behind the masters follow one each, and have caught up. */
  async #replicate(): Promise<void> {
    for (const [index, { port }] of this.nodes.slice(MASTERS).entries()) {
      const master = this.nodes[index] as Node;
      const id = await onNode(master.port, (client) => client.call('CLUSTER', 'MYID'));
      await this.#until(() =>
        onNode(port, (client) => client.call('CLUSTER', 'REPLICATE', String(id))),
      );
    }
    await this.#untilReplicated();
  }

  async #untilReplicated(): Promise<void> {
    await this.#until(async () => {
      const infos = await this.#onAll((client) => client.info('replication'));
      const followed = infos.filter((info) => /master_link_status:up/.test(info)).length;
      if (followed < this.nodes.length - MASTERS) throw new Error('a replica has not caught up');
    });
  }

  async #untilWhole(): Promise<void> {
    await this.#until(async () => {
      const infos = await this.#onAll((client) => client.call('CLUSTER', 'INFO'));
      const whole = new RegExp(`state:ok[^]*known_nodes:${this.nodes.length}\\s`);
      const isWhole = infos.every((info) => whole.test(String(info)));
      if (!isWhole) throw new Error('the cluster is not whole yet');
    });
  }

  /** Of the first node that answers. */
  #ask<T>(ask: (client: Redis) => Promise<T>): Promise<T> {
    return Promise.any(this.nodes.map(({ port }) => onNode(port, ask)));
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
