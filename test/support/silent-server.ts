import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** Takes every connection, and never says a word: what a connection is like that is dead. */
export class SilentServer {
  readonly #sockets: Socket[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<SilentServer> {
    const server = createServer();
    const silent = new SilentServer(server);
    server.on('connection', (socket) => {
      silent.#sockets.push(
        socket.on('error', () => undefined).on('data', () => server.emit('asked')),
      );
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return silent;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** Resolves as the next one asks something. */
  async asked(): Promise<void> {
    await once(this.server, 'asked');
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
  }
}
