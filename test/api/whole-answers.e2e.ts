import { connect, type Socket } from 'node:net';
import { startTestApp, type TestApp } from '../support/app';

/** What arrives of answers where a client sends more than is read, or what is no HTTP behind what is. */

const KB = 1_024;
const ITEMS = JSON.stringify({ items: [{ sku: 'TEA-SENCHA', quantity: 1 }] });

let api: TestApp;
let token: string;
beforeAll(async () => {
  api = await startTestApp({ settings: { ROLES: 'api' } });
  token = await api.token();
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

describe('what is no HTTP', () => {
  const place = (key: string) =>
    post('/v1/orders', `Authorization: Bearer ${token}\r\nIdempotency-Key: ${key}\r\n`).replace(
      /\r\n\r\n$/,
      `\r\nContent-Length: ${ITEMS.length}\r\n\r\n${ITEMS}`,
    );

  it.each([
    ['garbage', 'GARBAGE\r\n\r\n', 400],
    ['endless-headers', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20 * KB)}\r\n\r\n`, 431],
  ])('is told of after the answers to what stood before it: %s', async (what, bytes, status) => {
    const { socket, all } = open();
    socket.write(place(`${what}-1`) + place(`${what}-2`) + bytes);
    socket.write(bytes);
    const answers = await all;
    expect(statuses(answers)).toEqual([201, 201, status]);
    expect(answers).toContain('application/problem+json');
  });

  it('is told of after the answer to what stands behind one that was refused, too', async () => {
    const { socket, all } = open();
    const refused = post('/v1/webhook/sandbox', `Content-Length: ${ITEMS.length}\r\n`) + ITEMS;
    const asked = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';
    socket.write(`${refused}${asked}GARBAGE\r\n\r\n`);
    expect(statuses(await all)).toEqual([404, 200, 400]);
  });

  it('is put into the midst of no answer that has begun', async () => {
    const order = await api.request<{ id: string }>('POST /v1/orders', {
      ...{ token, headers: { 'idempotency-key': 'streamed' } },
      body: JSON.parse(ITEMS) as object,
    });
    const { socket, heard } = open();
    let said = '';
    socket.on('data', (piece: Buffer) => (said += piece.toString()));
    const begun = heard('event: order.placed');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const path = `/v1/orders/${order.body.id}/events`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await begun;
    socket.write('GARBAGE\r\n\r\n');
    await closed;
    expect(statuses(said)).toEqual([200]);
  });

  it('is told of at once within a request that has not come to its end', async () => {
    const { socket, all } = open();
    socket.write(`${post(HOOK, 'Transfer-Encoding: chunked\r\n')}no size\r\n`);
    expect(statuses(await all)).toEqual([400]);
  });
});
