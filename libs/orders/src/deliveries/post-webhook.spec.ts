import dns from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import {
  startWebhookListener,
  type WebhookListener,
} from '../../../../test/support/webhook-listener';
import { type Attempt, postWebhook } from './post-webhook';
import { newSecret } from './sign-webhook';

let listener: WebhookListener;
beforeAll(async () => (listener = await startWebhookListener()));
afterAll(() => listener.close());

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const body = JSON.stringify({ type: 'order.paid', data: {} });
/** The limit is that of a machine which stands still at times, unless it is what is tested. */
const send = (url = listener.url, allowPrivate = true, limitMs = 20_000): Promise<Attempt> =>
  postWebhook({ id: 'msg_1', url, secrets: [newSecret()], body }, { allowPrivate, limitMs });

it('follows no redirect', async () => {
  listener.answer = (_, response) =>
    void response.writeHead(302, { location: `${listener.url}/elsewhere` }).end();
  const before = listener.heard.length;
  expect(await send()).toMatchObject({ isDelivered: false, answer: 302 });
  expect(listener.heard.length - before).toBe(1);
});

it('looks a name up once for all that go there at the same time', async () => {
  listener.answer = (_, response) => void response.writeHead(204).end();
  const lookup = jest.spyOn(dns, 'lookup');
  const url = listener.url.replace('127.0.0.1', 'localhost');
  const sent = await Promise.all(Array.from({ length: 16 }, () => send(url)));
  expect(sent.map(({ isDelivered }) => isDelivered)).toEqual(sent.map(() => true));
  expect(lookup).toHaveBeenCalledTimes(1);
  expect(await send(url)).toMatchObject({ isDelivered: true });
  expect(lookup).toHaveBeenCalledTimes(2);
  lookup.mockRestore();
});

it('gives up on who does not answer, or never ends the answer', async () => {
  listener.answer = () => undefined;
  const silent = await send(listener.url, true, 300);
  expect(silent).toMatchObject({
    isDelivered: false,
    answer: null,
    error: 'no answer within 0.3 s',
  });
  listener.answer = (_, response) => void response.writeHead(200).write('and');
  expect(await send(listener.url, true, 300)).toMatchObject({
    isDelivered: false,
    error: 'no answer within 0.3 s',
  });
});

it('hangs up on an answer without end, which says that it was taken', async () => {
  listener.answer = (_, response) => {
    response.writeHead(200);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384)));
    };
    response.on('drain', more);
    more();
  };
  expect(await send()).toMatchObject({ isDelivered: true, answer: 200 });
});

it('gives up on who wants to speak another protocol', async () => {
  const upgrading = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    });
  });
  upgrading.listen(0, '127.0.0.1');
  await once(upgrading, 'listening');
  try {
    const { port } = upgrading.address() as AddressInfo;
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({
      isDelivered: false,
      answer: 101,
    });
  } finally {
    upgrading.close();
  }
});

it.each([
  ['SSH-2.0-OpenSSH_9.6\r\n', 'http', 'answered something that is not HTTP'],
  ['HTTP/1.1 2000 OK\r\n\r\n', 'http', 'answered something that is not HTTP'],
  [`${CHUNKED}nonsense\r\n`, 'http', 'answered something that is not HTTP'],
  [
    `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(90_000)}`,
    'http',
    'answered with headers that are too large',
  ],
  ['HTTP/1.1 200 OK\r\n\r\n', 'https', 'no TLS connection came about'],
  [`${CHUNKED}5\r\nab`, 'http', 'hung up in the midst of its answer'],
  ['', 'http', 'hung up without an answer'],
])('tells what came of an endpoint that answers %j by %s: %s', async (answer, protocol, error) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const attempt = await send(`${protocol}://127.0.0.1:${port}/`);
    expect(attempt).toMatchObject({ isDelivered: false, answer: null });
    expect(attempt.error).toContain(error);
  } finally {
    server.close();
  }
});

it('makes no connection to a private network, by address or by name, unless it is allowed', async () => {
  listener.answer = (_, response) => void response.writeHead(204).end();
  const before = listener.heard.length;
  const byName = listener.url.replace('127.0.0.1', 'localhost');
  for (const url of [
    listener.url,
    byName,
    listener.url.replace('127.0.0.1', '[::ffff:127.0.0.1]'),
  ]) {
    const { isDelivered, error } = await send(url, false);
    expect({ url, isDelivered, error }).toMatchObject({
      isDelivered: false,
      error: expect.stringContaining('private network') as string,
    });
  }
  expect(listener.heard).toHaveLength(before);
  expect(await send()).toMatchObject({ isDelivered: true, answer: 204 });
});

it('tells nothing of what the other side has said', async () => {
  listener.answer = (_, response) => void response.writeHead(500).end('the password is swordfish');
  expect(JSON.stringify(await send())).not.toContain('swordfish');
  const nobody = await send('http://127.0.0.1:1/');
  expect(nobody).toMatchObject({ answer: null, error: 'could not be reached: ECONNREFUSED' });
});
