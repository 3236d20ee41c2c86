import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The two sockets of one connection; bytes read from one wait here until they may be written. */
interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
}

/**
 * A TCP proxy on 127.0.0.1 that can be slow, go silent, cut connections or refuse them. Every
 * connection is served by one upstream connection of its own; order and content are kept.
 */
export class FaultyProxy {
  readonly #pairs = new Set<Pair>();
  readonly #server: Server;
  #port = 0;
  #latencyMs = 0;
  #paused: Promise<void> | undefined;
  #resume: () => void = () => undefined;

  private constructor(private readonly targetPort: number) {
    this.#server = createServer({ noDelay: true }, (client) => this.#serve(client));
  }

  static async to(targetPort: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(targetPort);
    await proxy.#listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  /** `url` with this proxy's address instead of the server's. */
  through(url: string): string {
    const proxied = new URL(url);
    proxied.hostname = '127.0.0.1';
    proxied.port = String(this.#port);
    return proxied.href.replace(/\/$/, '');
  }

  /** Everything takes so much longer, in each direction. */
  delay(latencyMs: number): void {
    this.#latencyMs = latencyMs;
  }

  /** Nothing comes through any more, and nobody is told: connections stay open. */
  pause(): void {
    this.#paused ??= new Promise((resolve) => (this.#resume = resolve));
  }

  resume(): void {
    this.#paused = undefined;
    this.#resume();
  }

  /** Cuts every connection with a reset, as a firewall that was restarted does. */
  reset(): void {
    for (const { client, upstream } of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  /** Cuts every connection and listens no more: connecting is refused. */
  async refuse(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.reset();
    await closed;
  }

  async restore(): Promise<void> {
    this.#latencyMs = 0;
    this.resume();
    if (!this.#server.listening) await this.#listen();
  }

  close(): Promise<void> {
    this.resume();
    return this.refuse();
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject).listen(this.#port, '127.0.0.1', () => {
        this.#server.off('error', reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  #serve(client: Socket): void {
    const upstream = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    const pair = { client, upstream };
    this.#pairs.add(pair);
    this.#forward(client, upstream);
    this.#forward(upstream, client);
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    // What breaks is what the fault wants broken.
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  }

  /** In order: each piece waits for the one before it, then until its own time has come. */
  #forward(from: Socket, to: Socket): void {
    let before: Promise<void> = Promise.resolve();
    from.on('data', (bytes: Buffer) => {
      const dueMs = performance.now() + this.#latencyMs;
      from.pause();
      before = before.then(async () => {
        // Reading goes on during the latency: it is a slow line, not a narrow one.
        if (this.#latencyMs > 0) from.resume();
        await untilMs(dueMs);
        while (this.#paused) await this.#paused;
        if (to.writable) to.write(bytes);
        from.resume();
      });
    });
    from.on('end', () => void before.then(() => to.end()));
  }
}

async function untilMs(dueMs: number): Promise<void> {
  const leftMs = dueMs - performance.now();
  if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
}
