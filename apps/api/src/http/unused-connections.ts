import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** What Node says of a request that does not come to its end in time. */
export const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/**
 * Connections by which nothing has been asked yet: browsers, proxies and Node's `fetch` open some ahead. Node has each
 * for a request that does not come to its end: gives it up with an error, and waits for it when the server closes.
 */
export class UnusedConnections {
  readonly #open = new Set<Socket>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  /** Nobody waits for an answer by them. */
  hangUp(): void {
    for (const socket of this.#open) if (isUnused(socket)) socket.destroy();
  }
}

/** True where nothing has come by it. */
export function isUnused(socket: Socket): boolean {
  return socket.bytesRead === 0;
}
