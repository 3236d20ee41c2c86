import { type IncomingMessage, request } from 'node:http';
import { startSandbox } from './sandbox';
import { Harness, SECRET } from './testing/harness';

const sandbox = new Harness();
beforeAll(() => sandbox.start());
afterAll(() => sandbox.stop());

function send(path: string, body: string, contentType = 'application/json'): Promise<Response> {
  const headers = { 'content-type': contentType };
  return fetch(`${sandbox.url}${path}`, { method: 'POST', body, headers });
}

it.each([
  ['broken JSON', '{"amount":', 'application/json', 400, 'invalid_json'],
  ['a poisoned prototype', '{"__proto__":{}}', 'application/json', 400, 'invalid_json'],
  ['no body', '', 'application/json', 400, 'invalid_request'],
  ['another format', '<a/>', 'text/xml', 415, 'unsupported_media_type'],
  ['a huge body', `"${'x'.repeat(33_000)}"`, 'application/json', 413, 'body_too_large'],
])('refuses %s with a problem document', async (_what, body, contentType, status, code) => {
  const answer = await send('/v1/payments', body, contentType);
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(await answer.json()).toMatchObject({ status, code, detail: expect.any(String) });
  expect(answer.status).toBe(status);
});

it.each([
  ['/nowhere', 404, 'route_not_found'],
  ['/v1/payments/%zz', 400, 'bad_request'],
  [`/v1/payments/${'x'.repeat(300)}`, 414, 'bad_request'],
])('answers %s with a problem document', async (path, status, code) => {
  const answer = await sandbox.get(path);
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(answer.body).toMatchObject({ status, code });
});

it.each([
  ['127.0.0.2', '127.0.0.2'],
  ['0.0.0.0', '127.0.0.1'],
])('listening on %s it is reached at %s', async (host, hostname) => {
  const other = await startSandbox({
    ...{ host, port: 0, dataFolder: null },
    ...{ webhookUrl: 'http://127.0.0.1:1', webhookSecret: SECRET },
  });
  try {
    expect(new URL(other.url).hostname).toBe(hostname);
    expect((await fetch(other.url)).status).toBeLessThan(500);
  } finally {
    await other.close();
  }
});

it('takes an empty body where nothing has to be said', async () => {
  const id = await sandbox.openPayment();
  expect((await send(`/v1/payments/${id}/close`, '')).status).toBe(200);
});

describe('a page of somebody else in the browser', () => {
  const pay = async (headers: Record<string, string>) => {
    const id = await sandbox.openPayment();
    const { port, host } = new URL(sandbox.url);
    // fetch does not let its caller say these.
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { port, method: 'POST', path: `/v1/payments/${id}/pay` };
      request({ ...options, headers: { host, ...headers } }, resolve)
        .on('error', reject)
        .end();
    });
    answer.resume();
    const { status } = (await sandbox.get(`/v1/payments/${id}`)).body as { status: string };
    return [answer.statusCode, status];
  };

  it.each([
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:9' }],
    // Its name leads here, for as long as it says so.
    [{ host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' }],
  ])('changes nothing with %j', async (headers: Record<string, string>) => {
    expect(await pay(headers)).toEqual([403, 'open']);
  });

  it('is told from our own pages and from programs', async () => {
    const origin = sandbox.url;
    for (const headers of [{}, { origin }, { origin: 'null', 'sec-fetch-site': 'same-origin' }]) {
      expect(await pay(headers as Record<string, string>)).toEqual([200, 'paid']);
    }
  });

  it('cannot have webhooks sent elsewhere', async () => {
    for (const url of ['http://169.254.169.254/', 'https://evil.example/', 'http://[::ffff:1]/']) {
      const answer = await sandbox.call('PUT', '/v1/webhooks/endpoint', { url });
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    }
    expect((await sandbox.get('/v1/webhooks/endpoint')).body).not.toMatchObject({
      url: expect.stringContaining('evil'),
    });
  });
});

it('stops although a caller is being kept waiting', async () => {
  await sandbox.faults({ timeoutRate: 1 });
  const held = sandbox.clock.nextTimer();
  const answer = sandbox.get('/v1/payments/pay_0').catch(() => 'dropped');
  await held;
  await sandbox.stopSandbox();
  expect(await answer).toBe('dropped');
});
