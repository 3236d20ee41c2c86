import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { problem } from '@app/orders/http';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { Draining } from '../draining';
import { createFastifyAdapter } from './fastify-adapter';
import { KnownRoutes } from './known-routes';
import { sendProblem } from './send-problem';

/** The limits of the server itself, shorter than they are. */
const TIMEOUT_MS = 300;
/** Node looks every 30 s by default, which would be too late. */
const PROMPT_MS = 20_000;
/** Nobody is given up while a test lasts; Node takes no more than five minutes. */
const PATIENT_MS = 240_000;

describe('the HTTP server', () => {
  let fastify: FastifyInstance;
  const sockets: Socket[] = [];

  async function listen(timeoutMs: number): Promise<void> {
    const adapter = createFastifyAdapter(
      {
        config: { TRUST_PROXY: undefined, RATE_LIMIT: null },
        counts: { increment: () => Promise.reject(new Error('nothing is limited here')) },
        logger: pino({ level: 'silent' }),
        draining: new Draining(),
        routes: new KnownRoutes(),
      },
      { timeoutMs, maxConnections: 2 },
    );
    fastify = adapter.getInstance();
    fastify.post('/', () => 'ok');
    fastify.setErrorHandler((_error, _request, reply) =>
      sendProblem(reply, problem('body_too_large', 'The body is too large')),
    );
    await fastify.listen({ port: 0, host: '127.0.0.1' });
  }
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await fastify.close();
  });

  async function open(bytes: string): Promise<Socket> {
    const { port } = fastify.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    if (bytes) socket.write(bytes);
    return socket;
  }

  const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\n';

  it.each([
    ['headers', HEAD],
    ['a body', `${HEAD}Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{"a"`],
  ])('gives up on a client that does not finish %s', async (_, bytes) => {
    await listen(TIMEOUT_MS);
    const startedAt = performance.now();
    const socket = await open(bytes);
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(socket, 'close');
    expect(said).toContain('request_timeout');
    expect(performance.now() - startedAt).toBeLessThan(PROMPT_MS);
  });

  it('keeps a connection that was opened ahead and has said nothing yet', async () => {
    await listen(TIMEOUT_MS);
    const timedOut = once(fastify.server, 'clientError');
    const socket = await open('');
    const [error] = await timedOut;
    expect(error).toHaveProperty('code', 'ERR_HTTP_REQUEST_TIMEOUT');
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    socket.write(`${HEAD}Content-Length: 0\r\n\r\n`);
    await once(socket, 'data');
    expect(said).toContain('HTTP/1.1 200 OK');
    // What it begins to say it has to finish, as others have.
    socket.write(HEAD);
    await once(socket, 'close');
    expect(said).toContain('request_timeout');
  });

  it('gives up on a client that it has refused, and that does not finish either', async () => {
    await listen(TIMEOUT_MS);
    const socket = await open(
      `${HEAD}Content-Type: application/json\r\nContent-Length: 99999\r\n\r\n`,
    );
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(socket, 'close');
    expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413']);
  });

  it('answers what has come in when the door closes, and then hangs up', async () => {
    await listen(PATIENT_MS);
    const request = `${HEAD}Content-Length: 0\r\n\r\n`;
    const clients = [await open(request), await open(request)];
    const said = clients.map((client) => {
      const texts: string[] = [];
      client.on('data', (chunk: Buffer) => texts.push(chunk.toString()));
      return texts;
    });
    await Promise.all(clients.map((client) => once(client, 'data')));
    const ended = clients.map((client) => once(client, 'close'));
    // Loopback: it is with the server once it is written, and read when its turn comes.
    for (const client of clients) client.write(request);
    await fastify.close();
    await Promise.all(ended);
    for (const texts of said) {
      const second = /^HTTP\/1\.1 200 OK.*ok$/s.exec(texts.slice(1).join(''))?.[0];
      expect(second?.toLowerCase()).toContain('connection: close');
    }
  });

  it('waits for nobody who has said nothing yet when the door closes', async () => {
    await listen(PATIENT_MS);
    const accepted = once(fastify.server, 'connection');
    const socket = await open('');
    await accepted;
    const ended = once(socket, 'close');
    await fastify.close();
    await ended;
  });

  it('takes so many connections and no more', async () => {
    await listen(PATIENT_MS);
    await open('');
    await open('');
    const third = await open('');
    await once(third, 'close');
    const count = await new Promise((resolve) => {
      fastify.server.getConnections((_, open) => resolve(open));
    });
    expect(count).toBe(2);
  });
});
