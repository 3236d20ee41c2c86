import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startTestApp, type TestApp } from '../support/app';
import { expectProblem } from '../support/problem';

const KB = 1_024;
const SHOP = 'https://shop.example';
const ACROSS = /^access-control-/;

describe('HTTP', () => {
  let api: TestApp;
  let token: string;
  beforeAll(async () => {
    const CORS_ORIGINS = `${SHOP},http://localhost:5173`;
    api = await startTestApp({ settings: { ROLES: 'api', CORS_ORIGINS } });
    token = await api.token();
  });
  afterAll(() => api?.close());

  /** What the server answers to bytes that no client library would send. */
  const sendBytes = (bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(api.baseUrl);
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes));
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.on('end', () => resolve(text)).on('error', reject);
    });
  const post = (body: string | Buffer<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(`${api.baseUrl}/v1/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k', ...headers },
      body,
    }).then(async (response) => ({
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as unknown,
    }));

  it('tells an unknown address from a wrong method', async () => {
    for (const path of ['/', '/v1', '/v1/orders/x/y', '/v1/orders/', '/v2/orders'] as const) {
      expectProblem(await api.request(`GET ${path}`, { token }), 404, 'not_found');
    }
    const wrong = await api.request('DELETE /v1/orders?x=1', { token });
    expectProblem(wrong, 405, 'method_not_allowed');
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, POST');
    const nested = await api.request('PUT /v1/orders/7/cancel', { token });
    expectProblem(nested, 405, 'method_not_allowed');
    expect(nested.headers.get('allow')).toBe('POST');
  });

  it.each(['text/plain', 'application/json', 'application/json; charset=utf-16', 'nonsense'])(
    'tells them apart whatever body is sent there, as of type %s',
    async (type) => {
      const send = (methodAndPath: string) =>
        sendBytes(
          `${methodAndPath} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
            `Content-Type: ${type}\r\nContent-Length: 2\r\n\r\n{"`,
        );
      const unknown = await send('POST /v1/webhook/sandbox');
      expect(unknown).toMatch(/^HTTP\/1\.1 404 [^]*"code":"not_found"/);
      const wrong = await send('DELETE /v1/orders');
      expect(wrong).toMatch(/^HTTP\/1\.1 405 [^]*allow: GET, HEAD, POST/);
    },
  );

  it('demands no body of a method that it does not know', async () => {
    const answer = await sendBytes(
      'QUERY /v1/orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 405 [^]*"code":"method_not_allowed"/);
  });

  it.each([
    ['{', 'is not valid JSON'],
    ['{"items":}', 'is not valid JSON'],
    ['"', 'is not valid JSON'],
    ['{"__proto__":{"x":1}}', 'has a field "__proto__"'],
    ['{"constructor":{"prototype":1}}', 'has a field "__proto__" or "constructor.prototype"'],
  ])('answers 400 to the JSON %s, and says that it %s', async (body, what) => {
    const { detail } = expectProblem(await post(body), 400, 'invalid_request');
    expect(detail).toContain(what);
  });

  it('answers 415 to a body that is packed, also of a webhook', async () => {
    const headers = { 'content-encoding': 'gzip' };
    const packed = await api.request('POST /v1/webhooks/sandbox', { headers, body: {} });
    for (const answer of [packed, await post('{}', headers)]) {
      const { detail } = expectProblem(answer, 415, 'unsupported_media_type');
      expect(detail).toContain('Content-Encoding');
    }
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'nonsense'])(
    'answers 415 to a body of type %s',
    async (type) => {
      const answer = await post('items=1', { 'content-type': type });
      expectProblem(answer, 415, 'unsupported_media_type');
    },
  );

  it.each(['utf-16', 'UTF-16LE', '"iso-8859-1"', 'utf-8; charset=utf-16', 'nonsense'])(
    'answers 415 to a body in charset=%s, and reads nothing of it',
    async (charset) => {
      const type = { 'content-type': `application/json;Charset=${charset}` };
      const answer = await post('{', { ...type, authorization: `Bearer ${token}` });
      const { detail } = expectProblem(answer, 415, 'unsupported_media_type');
      expect(detail).toBe('Send the body in UTF-8: no other charset is taken');
    },
  );

  it.each(['utf-8', 'UTF8', '"utf-8"; v=1', 'us-ascii'])('reads charset=%s', async (charset) => {
    const type = { 'content-type': `application/json; charset=${charset}` };
    const { detail } = expectProblem(await post('{', type), 400, 'invalid_request');
    expect(detail).toBe('The body is not valid JSON');
  });

  it('answers 400 to bytes that are no UTF-8, and guesses at none', async () => {
    const latin1 = Buffer.from('{"reason":"gr\u00fcn"}', 'latin1');
    const { detail } = expectProblem(await post(latin1), 400, 'invalid_request');
    expect(detail).toBe('The body is not UTF-8');
  });

  it('takes bodies of 32 kB, and webhooks of 256 kB', async () => {
    const body = (bytes: number) => JSON.stringify({ items: 'x'.repeat(bytes - 12) });
    expectProblem(await post(body(32 * KB)), 401, 'unauthorized');
    expectProblem(await post(body(32 * KB + 1)), 413, 'body_too_large');
    const hook = (bytes: number) =>
      api.request('POST /v1/webhooks/sandbox', { body: 'x'.repeat(bytes) });
    expectProblem(await hook(256 * KB), 400, 'bad_signature');
    const { detail } = expectProblem(await hook(256 * KB + 1), 413, 'body_too_large');
    expect(detail).toContain(`${256 * KB} bytes`);
  });

  it('answers problems even to what is hardly HTTP', async () => {
    const garbage = await sendBytes('GARBAGE\r\n\r\n');
    expect(garbage).toMatch(/^HTTP\/1\.1 400 /);
    expect(garbage).toContain('application/problem+json');
    const headers = await sendBytes(
      `GET /v1/products HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20 * KB)}\r\n\r\n`,
    );
    expect(headers).toMatch(/^HTTP\/1\.1 431 /);
    expect(headers).toContain('"code":"headers_too_large"');
    const hostless = await sendBytes('GET /v1/products HTTP/1.1\r\n\r\n');
    expect(hostless).toMatch(/^HTTP\/1\.1 400 [^]*application\/problem\+json/);
    for (const [version, other] of ['1.1', '1.0'].flatMap((v) =>
      ['y', 'x', ''].map((o) => [v, o]),
    )) {
      const two = `GET /v1/products HTTP/${version}\r\nHost: x\r\nhOST: ${other}\r\n\r\n`;
      expect(await sendBytes(two)).toMatch(
        /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*has more than one header Host/,
      );
    }
    const odd = 'GET /v1/products HTTP/1.0\r\nExpect: wonders\r\n\r\n';
    expect(await sendBytes(odd)).toMatch(/^HTTP\/1\.1 200 /);
    expectProblem(await api.request('GET /v1/orders/%zz', { token }), 400, 'invalid_request');
    const long = await api.request(`GET /v1/orders/${'x'.repeat(101)}`, { token });
    expectProblem(long, 414, 'uri_too_long');
  });

  /** A request as a browser sends it from a page of another origin. */
  const across = async (method: string, path: string, headers: Record<string, string>) => {
    const answer = await fetch(api.baseUrl + path, { method, headers });
    await answer.text();
    return answer;
  };
  const preflight = (origin: string, path: string) =>
    across('OPTIONS', path, {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
    });

  it("lets the listed origins' pages call the storefront, and read what it answers", async () => {
    const asked = await preflight(SHOP, '/v1/orders');
    expect(asked.status).toBe(204);
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      'access-control-allow-origin': SHOP,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': expect.stringMatching(/authorization.*idempotency-key/),
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expect(asked.headers.has('access-control-allow-credentials')).toBe(false);
    // Refusals too: a page has to tell "out of stock" from "no network".
    for (const path of ['/v1/products', '/v1/orders', '/v1/orders/7']) {
      const { headers } = await across('GET', path, { origin: SHOP });
      expect(headers.get('access-control-allow-origin')).toBe(SHOP);
      expect(headers.get('access-control-expose-headers')).toMatch(/etag.*retry-after/);
      expect(headers.get('vary')).toBe('Origin');
    }
  });

  it.each([
    ['of other origins', 'https://shop.example.evil.example', '/v1/orders'],
    ['without an origin', 'null', '/v1/orders'],
    ['of a listed origin by another scheme', 'http://shop.example', '/v1/products'],
    ['that want the ops routes', SHOP, '/v1/ops/overview'],
    ['that want to be a provider', SHOP, '/v1/webhooks/sandbox'],
  ])('lets no pages %s in', async (_, origin, path) => {
    const asked = await preflight(origin, path);
    expect(asked.headers.has('access-control-allow-origin')).toBe(false);
    const answer = await across('GET', path, { origin });
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
  });

  it('calls nobody at fault when a client hangs up', async () => {
    const error = jest.spyOn(api.logger, 'error');
    const { port } = new URL(api.baseUrl);
    const server = api.app.getHttpServer();
    const head = `POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
    const body =
      'Idempotency-Key: k\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n';
    const webhook = 'POST /v1/webhooks/sandbox HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n';
    try {
      for (const bytes of ['', 'GET /v1', head, `${head}${body}{"items"`, `${webhook}{"type"`]) {
        const ours = once(server, 'connection') as Promise<[Socket]>;
        const socket = connect(Number(port), '127.0.0.1');
        const [accepted] = await ours;
        const gone = new Promise((resolve) => accepted.once('close', resolve));
        if (bytes) {
          const heard = once(accepted, 'data');
          socket.write(bytes);
          await heard;
        }
        socket.resetAndDestroy();
        await gone;
      }
      // Whatever would be said is said before the next answer.
      expect((await api.request('GET /v1/products')).status).toBe(200);
      expect(error).not.toHaveBeenCalled();
    } finally {
      error.mockRestore();
    }
  });

  it('tells nothing of an error nobody expected, but where to look for it', async () => {
    const query = jest.spyOn(api.dataSource, 'createQueryRunner').mockImplementation(() => {
      throw new Error('hunter2');
    });
    const error = jest.spyOn(api.logger, 'error');
    try {
      const answer = await api.request('GET /v1/products');
      const { instance } = expectProblem(answer, 500, 'internal_error');
      expect(JSON.stringify(answer.body)).not.toContain('hunter2');
      // Where the process tells of itself meanwhile, that has failed and is told, too.
      const told = error.mock.calls as unknown as [{ requestId?: string }][];
      const requests = told.map(([{ requestId }]) => `urn:lastcall:request:${requestId}`);
      expect(requests).toContain(instance);
    } finally {
      query.mockRestore();
      error.mockRestore();
    }
  });
});

describe('the rate limit', () => {
  let api: TestApp;
  beforeAll(async () => {
    api = await startTestApp({ settings: { ROLES: 'api', RATE_LIMIT: '5/m' } });
  });
  afterAll(() => api?.close());

  it('is reached by no page of another origin unless CORS_ORIGINS names it', async () => {
    const headers = { origin: SHOP, 'access-control-request-method': 'GET' };
    const asked = await fetch(`${api.baseUrl}/v1/products`, { method: 'OPTIONS', headers });
    expect(asked.status).toBe(405);
    expect([...asked.headers.keys()].filter((name) => ACROSS.test(name))).toEqual([]);
  });

  it('counts each customer alone, over all routes, and says when to come back', async () => {
    const [ann, bob] = [await api.token({ sub: 'ann' }), await api.token({ sub: 'bob' })];
    for (let i = 0; i < 5; i++) {
      const path = i % 2 ? 'GET /v1/orders' : 'GET /v1/products';
      const { status, headers } = await api.request(path, { token: ann });
      expect(status).toBe(200);
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"requests";r=${4 - i};t=\\d{1,2}$`));
    }
    const blocked = await api.request('GET /v1/orders', { token: ann });
    expectProblem(blocked, 429, 'rate_limited');
    expect(blocked.headers.get('ratelimit-policy')).toBe('"requests";q=5;w=60');
    expect(blocked.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=\d{1,2}$/);
    expect(Number(blocked.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    // Another token is still the same customer.
    const again = await api.token({ sub: 'ann', expiresIn: 60 });
    expectProblem(await api.request('GET /v1/orders', { token: again }), 429, 'rate_limited');
    expect((await api.request('GET /v1/orders', { token: bob })).status).toBe(200);
  });

  it('counts guesses at tokens by address, and never webhooks, health or metrics', async () => {
    for (let i = 0; i < 5; i++) {
      const answer = await api.request('GET /v1/orders', { token: `a.b.${i}` });
      expectProblem(answer, 401, 'unauthorized');
    }
    const answer = await api.request('GET /v1/orders', { token: 'a.b.c' });
    expectProblem(answer, 429, 'rate_limited');
    for (let i = 0; i < 10; i++) {
      expect((await api.request('POST /v1/webhooks/sandbox', { body: {} })).status).toBe(400);
      expect((await api.request('GET /health/ready')).status).toBe(200);
      expect((await api.request('GET /metrics')).status).toBe(401);
    }
  });
});
