import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../../scripts/services/index.mjs';

/** Stands between the application and a server, so that a test can take the server away. */
export interface TcpProxy {
  /** `url` with this proxy's address in it. */
  readonly url: string;
  /** Cuts every connection and refuses new ones, as when the server has died. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /**
   * Of the next transaction of Postgres that has sent something like this: its COMMIT is carried out, and the
   * connection is cut before the answer comes; and not before `meanwhile`, called as the COMMIT is sent, is over.
   */
  loseCommit(after: RegExp, meanwhile?: () => Promise<unknown>): void;
  close(): Promise<void>;
}

export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    // What breaks is what the test wants broken.
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    return socket;
  };
  let losing: { after: RegExp; meanwhile: (() => Promise<unknown>) | undefined } | undefined;
  const server = createServer((client) => {
    const upstream = track(connect(Number(target.port), target.hostname));
    let isMeant = false;
    client.on('data', (bytes: Buffer) => {
      const sent = bytes.toString('latin1');
      if (sent.includes('START TRANSACTION')) isMeant = false;
      isMeant ||= losing?.after.test(sent) ?? false;
      if (!isMeant || !sent.includes('COMMIT\0')) return;
      const over = losing?.meanwhile?.();
      losing = undefined;
      upstream.unpipe(client);
      const committed = once(upstream, 'data');
      void Promise.all([committed, over]).finally(() => client.destroy());
      upstream.resume();
    });
    track(client).pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const cut = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  // Of those that no connection takes by itself while we do not listen.
  const port = await freePort();
  await listen(port);
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(port);
  return {
    url: proxied.href,
    cut,
    restore: () => listen(port),
    loseCommit: (after, meanwhile) => void (losing = { after, meanwhile }),
    close: async () => {
      if (server.listening) await cut();
    },
  };
}
