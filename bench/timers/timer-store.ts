import { mkdtempSync, readdirSync, statSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the files in scripts/services start, to be tampered with. */
interface EngineServer {
  readonly url: string;
  /** The group of its processes; undefined while it is down. */
  readonly pid: number | undefined;
  kill(): Promise<void>;
  start(): Promise<void>;
  freeze(): void;
  thaw(): void;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

interface Starter {
  readonly name: string;
  /** The setting that says where it is. */
  readonly setting: string;
  readonly missing: () => string | undefined;
  readonly start: (how: { folder: string; say(line: string): void }) => Promise<EngineServer>;
}

const SERVICES = join(process.cwd(), 'scripts', 'services');
// eslint-disable-next-line @typescript-eslint/no-require-imports -- ES modules without types
const service = <T>(name: string): T => require(join(SERVICES, `${name}.mjs`)) as T;

const broker = (name: string, setting: string): Starter => {
  const calls = (): Record<string, unknown> => service(name);
  const capital = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  return {
    ...{ name, setting },
    missing: () => (calls()[`${name}IsMissing`] as Starter['missing'])(),
    start: (how) => (calls()[`start${capital}`] as Starter['start'])(how),
  };
};

const REDIS: Starter = {
  name: 'redis',
  setting: 'REDIS_URL',
  missing: () => undefined,
  start: (how) =>
    service<{ startRedisEngine: Starter['start'] }>('redis-engine').startRedisEngine(how),
};

/** By the setting that its drivers need. */
export const STORES: readonly Starter[] = [
  REDIS,
  broker('rabbitmq', 'RABBITMQ_URL'),
  broker('rocketmq', 'ROCKETMQ_URL'),
  broker('nats', 'NATS_URL'),
];

/** As `stat` counts. */
const BLOCK_BYTES = 512;

/** A server of a measurement's own behind a line that can be slow. */
export class TimerStore {
  private constructor(
    readonly setting: string,
    private readonly server: EngineServer,
    private readonly line: SlowLine,
    private readonly folder: string,
    readonly url: string,
  ) {}

  static async open(
    { name, setting, start }: Starter,
    say: (line: string) => void,
  ): Promise<TimerStore> {
    const folder = mkdtempSync(join(tmpdir(), `lastcall-bench-${name}-`));
    const server = await start({ folder, say });
    const { port } = new URL(server.url.replace(/^\w+/, 'http'));
    const line = await SlowLine.to(Number(port));
    return new TimerStore(
      setting,
      server,
      line,
      folder,
      server.url.replace(`:${port}`, `:${line.port}`),
    );
  }

  /** Of its processes. */
  get group(): number | undefined {
    return this.server.pid;
  }

  /** What its files take on the disk: not their lengths, as brokers write into long, empty ones. */
  bytes(): number {
    return readdirSync(this.folder, { recursive: true, encoding: 'utf8' }).reduce(
      (sum, path) => sum + BLOCK_BYTES * blocksOf(join(this.folder, path)),
      0,
    );
  }

  /** SIGKILL, and started again with what it had on disk. */
  async killAndStart(): Promise<void> {
    await this.server.kill();
    await this.server.start();
  }

  flush(): Promise<void> {
    return this.server.flush();
  }

  freeze(): void {
    this.server.freeze();
  }

  thaw(): void {
    this.server.thaw();
  }

  /** From now on everything takes so much longer in each direction. */
  slow(ms: number): void {
    this.line.latencyMs = ms;
  }

  async stop(): Promise<void> {
    await this.line.close();
    await this.server.stop();
  }
}

/** Passes connections on, each byte a while later. */
class SlowLine {
  latencyMs = 0;
  readonly #sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async to(port: number): Promise<SlowLine> {
    const server = createServer({ noDelay: true });
    const line = new SlowLine(server);
    server.on('connection', (client) => {
      const upstream = connect({ port, host: '127.0.0.1', noDelay: true });
      line.#pipe(client, upstream);
      line.#pipe(upstream, client);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    return line;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #pipe(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    const end = (): void => {
      this.#sockets.delete(from);
      to.destroy();
    };
    // The server is killed now and then: whoever talks to it hears of that as of any cut line.
    from.on('error', end).on('close', end);
    from.on('data', (bytes: Buffer) => {
      const write = (): void => void (to.writable && to.write(bytes));
      // Timers of one length fire in their order.
      if (this.latencyMs > 0) setTimeout(write, this.latencyMs);
      else write();
    });
  }
}

/** None of a file that was deleted meanwhile. */
function blocksOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.blocks ?? 0;
}
