import { randomBytes, randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { NamesInLogs, type OrderView, PageSessions } from '@app/orders';
import { pino } from 'pino';
import { signedHeaders, signingKey } from '../../apps/sandbox/src/webhook-signature';
import { Authenticator } from '../../apps/api/src/auth/authenticator';
import { SharedCounts } from '../../apps/api/src/rate-limit/shared-counts';
import { startTestApp, type TestApp } from '../support/app';
import { cookieIn, type PageApp, startPageApp } from '../support/page-app';
import { expectProblem } from '../support/problem';
import { until } from '../support/until';

/** Who is counted together, what every answer says to browsers, and what is written down. */

const from = (client: string) => ({ 'x-forwarded-for': client });

describe('rate limits', () => {
  let api: TestApp;
  const start = async (settings: Record<string, string>) => {
    api = await startTestApp({ settings: { ROLES: 'api', RATE_LIMIT: '3/h', ...settings } });
  };
  afterEach(() => api?.close());
  const statusOf = async (path: `/${string}`, headers = {}) =>
    (await api.request(`GET ${path}`, { headers })).status;

  it('count clients behind a trusted proxy apart, IPv6 by network', async () => {
    await start({ TRUST_PROXY: '127.0.0.1,10.0.0.0/8' });
    for (let i = 0; i < 3; i++) {
      expect(await statusOf('/v1/products', from('192.0.2.1'))).toBe(200);
      expect(await statusOf('/v1/products', from(`2001:db8:0:1::${i + 1}`))).toBe(200);
    }
    // The proxy writes the last one; what stands before it a client has made up.
    for (const client of ['192.0.2.1', '1.2.3.4, 192.0.2.1', '192.0.2.1, 10.1.2.3']) {
      expect(await statusOf('/v1/products', from(client))).toBe(429);
    }
    expect(await statusOf('/v1/products', from('2001:db8:0:1:ffff::9'))).toBe(429);
    expect(await statusOf('/v1/products', from('192.0.2.2'))).toBe(200);
  });

  it('count a client as one whose proxy writes each connection with its port', async () => {
    await start({ TRUST_PROXY: '127.0.0.1' });
    for (let port = 49_152; port < 49_155; port++) {
      expect(await statusOf('/v1/products', from(`192.0.2.1:${port}`))).toBe(200);
      expect(await statusOf('/v1/products', from(`[2001:db8:0:1::1]:${port}`))).toBe(200);
    }
    expect(await statusOf('/v1/products', from('192.0.2.1:49155'))).toBe(429);
    expect(await statusOf('/v1/products', from('[2001:db8:0:1::2]:49155'))).toBe(429);
    expect(await statusOf('/docs-json', from('192.0.2.1:49156'))).toBe(429);
  });

  it('believe no header where no proxy is named', async () => {
    await start({});
    for (let i = 0; i < 3; i++) await statusOf('/v1/products', from(`192.0.2.${i}`));
    expect(await statusOf('/v1/products', from('192.0.2.9'))).toBe(429);
  });

  it('hold for the document too, and it can be switched off', async () => {
    await start({});
    for (let i = 0; i < 3; i++) expect(await statusOf('/docs-json')).toBe(200);
    const refused = await api.request('GET /docs-json');
    expectProblem(refused, 429, 'rate_limited');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    await api.close();
    await start({ DOCS: 'off' });
    expect(await statusOf('/docs-json')).toBe(404);
  });

  it('tell a buyer by a page, which tries again no sooner than it may', async () => {
    await start({});
    const look = () => fetch(`${api.baseUrl}/checkout/${randomUUID()}`);
    for (let i = 0; i < 3; i++) expect((await look()).status).toBe(410);
    const { status, headers } = await look();
    expect([status, headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8']);
    const retryAfter = Number(headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(60);
    expect(headers.get('refresh')).toMatch(new RegExp(`^${retryAfter}; url=/checkout/`));
  });

  it('keep nobody waiting for an issuer who needs no token', async () => {
    await start({});
    const identify = jest.spyOn(Authenticator.prototype, 'identify');
    identify.mockReturnValue(new Promise(() => undefined));
    try {
      const token = 'of.an.issuer-who-is-silent';
      const { status, headers } = await api.request('GET /v1/products', { token });
      expect([status, headers.get('ratelimit')]).toEqual([200, expect.stringContaining('r=2;')]);
      expect(identify).toHaveBeenCalledTimes(1);
    } finally {
      identify.mockRestore();
    }
  });

  it('are one for two processes', async () => {
    await start({ RATE_LIMIT: '6/h' });
    const beside = await startTestApp({
      beside: api,
      settings: { ROLES: 'api', RATE_LIMIT: '6/h' },
    });
    try {
      const token = await api.token();
      for (let i = 0; i < 4; i++) await api.request('GET /v1/orders', { token });
      for (let i = 0; i < 2; i++) await beside.request('GET /v1/orders', { token });
      await api.app.get(SharedCounts).tellOthers();
      await beside.app.get(SharedCounts).tellOthers();
      await beside.request('GET /v1/orders', { token });
      await beside.app.get(SharedCounts).tellOthers();
      expectProblem(await beside.request('GET /v1/orders', { token }), 429, 'rate_limited');
    } finally {
      await beside.close();
    }
  });

  it('let a customer open so many payments a minute, whatever the limit of requests', async () => {
    await start({ RATE_LIMIT: '10000/h' });
    const token = await api.token();
    const pay = () => api.request(`POST /v1/orders/${randomUUID()}/payments`, { token });
    const answers = await Promise.all(Array.from({ length: 31 }, pay));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
    expect(answers.at(-1)?.headers.get('ratelimit-policy')).toBe(
      '"requests";q=10000;w=3600, "payments";q=30;w=60',
    );
    expect((await api.request('GET /v1/orders', { token })).status).toBe(200);
  });

  it('count apart what costs somebody else work, each by its own limit', async () => {
    await start({ RATE_LIMIT: '10000/h' });
    const token = await api.token({ scope: 'orders merchant' });
    const id = randomUUID();
    const pay = () => api.request(`POST /v1/orders/${id}/payments`, { token });
    const answers = await Promise.all(Array.from({ length: 10 }, pay));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(404));
    const tested = await api.request(`POST /v1/ops/webhook-endpoints/${id}/test`, { token });
    expectProblem(tested, 404, 'webhook_endpoint_not_found');
    expect(tested.headers.get('ratelimit')).toMatch(/^"requests";.*, "costly";r=9;t=\d+$/);
  });
});

describe('rate limits of pages', () => {
  let api: PageApp['api'];
  afterEach(async () => {
    jest.restoreAllMocks();
    await api?.close();
  });

  /** A checkout of a new order of theirs, in a browser of its own. */
  const openCheckout = async (sub: string) => {
    const token = await api.token({ sub });
    const { body: order } = await api.request<OrderView>('POST /v1/orders', {
      ...{ token, headers: { 'idempotency-key': `key-of-${sub}` } },
      body: { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] },
    });
    const path = `/v1/orders/${order.id}` as const;
    const link = await api.request<{ url: string }>(`POST ${path}/checkout-link`, { token });
    const cookie = cookieIn((await fetch(link.body.url)).headers);
    return () => api.request(`GET ${path}`, { headers: { cookie } });
  };

  it('count buyers behind one address apart, and with what they ask for by token', async () => {
    ({ api } = await startPageApp({ RATE_LIMIT: '10/h' }));
    const looks = [await openCheckout('bea'), await openCheckout('bob')];
    for (const look of looks) {
      for (let i = 0; i < 8; i++) expect((await look()).status).toBe(200);
      expectProblem(await look(), 429, 'rate_limited');
    }
    // The two links were opened by nobody who was known then.
    const strange = { cookie: `__Host-lc-console=${'x'.repeat(43)}` };
    const ask = () => api.request('GET /v1/products', { headers: strange });
    for (let i = 0; i < 8; i++) expect((await ask()).status).toBe(200);
    expectProblem(await ask(), 429, 'rate_limited');
  });

  it('hold for links to a checkout, each of which is kept for a while', async () => {
    ({ api } = await startPageApp({ RATE_LIMIT: '10000/h' }));
    const token = await api.token();
    for (const what of ['checkout-link', 'again'] as const) {
      const ask = () => api.request(`POST /v1/orders/${randomUUID()}/${what}`, { token });
      const answers = await Promise.all(Array.from({ length: 31 }, ask));
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
    }
  });

  it('ask the database for so many unknown cookies a minute and address', async () => {
    ({ api } = await startPageApp({ RATE_LIMIT: '10000/h' }));
    const find = jest.spyOn(PageSessions.prototype, 'find');
    const guess = () =>
      api.request('GET /v1/products', {
        headers: { cookie: `__Host-lc-console=${randomBytes(32).toString('base64url')}` },
      });
    for (let i = 0; i < 62; i++) await Promise.all(Array.from({ length: 10 }, guess));
    // A minute may have ended meanwhile, and another one has begun.
    expect(find.mock.calls.length).toBeGreaterThanOrEqual(300);
    expect(find.mock.calls.length).toBeLessThanOrEqual(600);
  });
});

describe('what browsers and watchers are told', () => {
  let api: TestApp;
  let lines: Record<string, unknown>[];
  beforeAll(async () => {
    api = await startTestApp({ settings: { ROLES: 'api' } });
  });
  afterAll(() => api?.close());
  beforeEach(() => {
    lines = [];
    const sink = new Writable({
      write: (chunk: Buffer, _, done) => {
        lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    });
    const said = pino({ level: 'warn' }, sink);
    jest.spyOn(api.logger, 'warn').mockImplementation(said.warn.bind(said));
  });
  afterEach(() => jest.restoreAllMocks());

  it.each([
    ...(['/v1/orders', '/v1/products', '/nothing', '/docs-json', '/health/live'] as const),
    ...(['/v1/orders/%zz', `/v1/orders/${'x'.repeat(101)}`] as const),
  ])('says to browsers that %s is data, and no page or frame', async (path) => {
    const { headers } = await api.request(`GET ${path}`, { token: await api.token() });
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    if (!path.startsWith('/docs')) expect(headers.get('cache-control')).toBe('no-store');
  });

  const nameInLogs = (subject: string) => api.app.get(NamesInLogs).of(subject);

  it('writes down who tried what, and never what they sent', async () => {
    const token = await api.token({ sub: 'eve', scope: 'orders' });
    await api.request('GET /v1/ops/overview', { token });
    await api.request('GET /v1/orders', { token: 'a.forged.token' });
    const secret = `whsec_${Buffer.from('a-secret-nobody-has-agreed').toString('base64')}`;
    const body = '{"type":"payment.succeeded"}';
    await api.request('POST /v1/webhooks/sandbox', {
      body,
      headers: signedHeaders(signingKey(secret), 'evt_forged', body, Date.now()),
    });
    await api.request('GET /v1/orders');
    await until('all is written down', async () => lines.length === 3);
    const told = lines.map(({ security, source, subject }) => ({ security, source, subject }));
    // Looking a name up takes its time.
    expect(told.sort((a, b) => String(a.security).localeCompare(String(b.security)))).toEqual([
      { security: 'access_denied', source: '127.0.0.1', subject: await nameInLogs('eve') },
      { security: 'authentication_failed', source: '127.0.0.1', subject: undefined },
      { security: 'webhook_forged', source: '127.0.0.1', subject: undefined },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/forged\.token|evt_forged|payment\.succeeded/);
    const metrics = await api.request<string>('GET /metrics', {
      token: await api.token({ scope: 'metrics' }),
    });
    expect(metrics.body).toMatch(/lastcall_security_events_total\{event="access_denied"\} \d/);
  });
});
