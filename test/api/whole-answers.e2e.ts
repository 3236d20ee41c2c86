import { connect, type Socket } from 'node:net';
import { startTestApp, type TestApp } from '../support/app';

/** What arrives of answers where a client sends more than is read. */

const KB = 1_024;

let api: TestApp;
beforeAll(async () => {
  api = await startTestApp({ settings: { ROLES: 'api' } });
});
afterAll(() => api?.close());

/** A connection that is closed by us alone, what it has been told, and how that ended. */
function open(): { socket: Socket; heard: (text: string) => Promise<void>; all: Promise<string> } {
  const { port } = new URL(api.baseUrl);
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const heard = (text: string) =>
    new Promise<void>((resolve, reject) => {
      socket.on('data', () => said.includes(text) && resolve()).on('error', reject);
    });
  const all = new Promise<string>((resolve, reject) => {
    socket.on('end', () => resolve(said)).on('error', reject);
  }).finally(() => socket.destroy());
  return { socket, heard, all };
}

const statuses = (answers: string) =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

const post = (path: string, headers: string, version = '1.1') =>
  `POST ${path} HTTP/${version}\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n`;
const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;

const HOOK = '/v1/webhooks/sandbox';
const REST = 4_096 * KB;

describe('a client that is refused while it sends', () => {
  it.each<[string, number, string, string, string]>([
    [
      ...(['too much', 413, post(HOOK, `Content-Length: ${REST}\r\n`), 'x'.repeat(REST)] as const),
      'body_too_large',
    ],
    [
      ...(['too much by HTTP/1.0', 413] as const),
      post(HOOK, `Content-Length: ${REST}\r\n`, '1.0'),
      'x'.repeat(REST),
      'body_too_large',
    ],
    [
      ...(['too much in chunks', 413] as const),
      post(HOOK, 'Transfer-Encoding: chunked\r\n') + chunk(257 * KB),
      `${chunk(REST)}0\r\n\r\n`,
      'body_too_large',
    ],
    [
      ...(['what is packed', 415] as const),
      post(HOOK, `Content-Encoding: gzip\r\nConnection: close\r\nContent-Length: ${REST}\r\n`),
      'x'.repeat(REST),
      'unsupported_media_type',
    ],
    [
      ...(['to an address that is too long', 414] as const),
      post(`/v1/orders/${'x'.repeat(101)}`, `Connection: close\r\nContent-Length: ${REST}\r\n`),
      'x'.repeat(REST),
      'uri_too_long',
    ],
    [
      ...(['to nobody', 404] as const),
      post('/v1/webhook/sandbox', `Connection: close\r\nContent-Length: ${REST}\r\n`),
      'x'.repeat(REST),
      'not_found',
    ],
  ])('%s hears that at once, and is hung up on when it has sent all', async (...given) => {
    const [, status, head, rest, code] = given;
    const { socket, heard, all } = open();
    const refused = heard(`"code":"${code}"`);
    socket.write(head);
    await refused;
    // Time for a server that has hung up to have said so.
    expect((await api.request('GET /health/live')).status).toBe(200);
    expect(socket.readableEnded).toBe(false);
    socket.write(rest);
    expect(statuses(await all)).toEqual([status]);
  });

  it('is forgotten when it leaves instead', async () => {
    const error = jest.spyOn(api.logger, 'error');
    try {
      const { socket, heard } = open();
      const refused = heard('"code":"body_too_large"');
      socket.write(post(HOOK, `Content-Length: ${REST}\r\n`));
      await refused;
      socket.resetAndDestroy();
      expect((await api.request('GET /health/live')).status).toBe(200);
      expect(error).not.toHaveBeenCalled();
    } finally {
      error.mockRestore();
    }
  });
});
