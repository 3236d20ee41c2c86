import { randomUUID } from 'node:crypto';
import { TimeoutService } from '@app/timeout';
import { Redis } from 'ioredis';
import { RedisMark } from '../../libs/orders/src/ops/redis-mark';
import { TellOfRedis } from '../../libs/orders/src/ops/tell-of-redis';
import { startTestApp, type TestApp } from '../support/app';
import { insertProduct } from '../support/insert-orders';
import { expectProblem } from '../support/problem';
import { takeRedisDatabase } from '../support/redis';
import { startStopwatch } from '../support/stopwatch';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { until } from '../support/until';

const BOARD = '/v1/ops/queues';

interface QueueList {
  readonly queues: readonly {
    readonly name: string;
    readonly readOnlyMode: boolean;
    readonly counts: Readonly<Record<string, number>>;
  }[];
}

describe('the queue board', () => {
  let redisUrl: string;
  let redis: TcpProxy;
  let api: TestApp;
  let token: string;

  beforeAll(async () => {
    redisUrl = await takeRedisDatabase();
    redis = await startTcpProxy(redisUrl);
    api = await startTestApp({ settings: { ROLES: 'api', REDIS_URL: redis.url } });
    token = await api.token({ sub: 'otto', scope: 'ops' });
    await insertProduct({ rows: (sql, params) => api.rows(sql, params) });
  });
  afterAll(async () => {
    await api?.close();
    await redis?.close();
  });

  const get = <Body = string>(path: string, headers: Record<string, string> = {}) =>
    api.request<Body>(`GET ${BOARD}${path}`, { headers });
  const asOps = <Body = string>(path: string) =>
    get<Body>(path, { authorization: `Bearer ${token}` });
  const basic = (password: string) => `Basic ${Buffer.from(`otto:${password}`).toString('base64')}`;

  /** The numbers of our connections: those to the database of this test. */
  const connections = async (): Promise<readonly string[]> => {
    const client = new Redis(redisUrl);
    const own = `id=${await client.client('ID')}`;
    const list = (await client.client('LIST')) as string;
    // Not just disconnected: the next look would still see this one.
    await client.quit();
    const ours = ` db=${new URL(redisUrl).pathname.slice(1)} `;
    const lines = list.split('\n').filter((line) => line.includes(ours));
    return lines.flatMap((line) => /^id=\d+/.exec(line) ?? []).filter((id) => id !== own);
  };

  it('opens nothing before somebody looks at it', async () => {
    const placed = await api.request('POST /v1/orders', {
      token: await api.token(),
      headers: { 'idempotency-key': 'k' },
      body: { items: [{ sku: 'TEA', quantity: 1 }] },
    });
    expect(placed.status).toBe(201);
    // Its alarm is armed behind the answer, by a connection that is opened for it; and what each process asks
    // Redis as it starts may still be under way.
    await api.app.get(TimeoutService).alarms.settled();
    await api.app.get(TellOfRedis).told;
    await api.app.get(RedisMark).take();
    const before = await connections();
    const opened = async (): Promise<number> =>
      (await connections()).filter((id) => !before.includes(id)).length;
    expectProblem(await get('/api/queues'), 401, 'unauthorized');
    expect(await opened()).toBe(0);
    const { status, body } = await asOps<QueueList>('/api/queues');
    expect(status).toBe(200);
    expect(body.queues).toMatchObject([
      { name: 'alarms', readOnlyMode: true, counts: { delayed: 1 } },
    ]);
    expect(await opened()).toBe(1);
  });

  it('shows its page, and what the page loads from here, and lets it load nothing else', async () => {
    const page = await asOps('');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(page.body).toContain(`<base href="${BOARD}/" />`);
    const assets = [...page.body.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(
      ([, path]) => path,
    );
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) expect((await asOps(`/${path}`)).status).toBe(200);
    const [script] = assets.filter((path) => path?.endsWith('.js'));
    const type = (await asOps(`/${script}`)).headers.get('content-type');
    expect(type).toMatch(/javascript/);
    expect((await asOps('/queue/alarms')).body).toContain('id="root"');
  });

  it('asks a person at a browser for a password, which is the token', async () => {
    const html = { accept: 'text/html,application/xhtml+xml' };
    const asked = await get('', html);
    expectProblem(asked, 401, 'unauthorized');
    expect(asked.headers.get('www-authenticate')).toMatch(/^Basic realm="lastcall/);
    expect((await get('', { ...html, authorization: basic(token) })).status).toBe(200);
    const wrong = await get('', { ...html, authorization: basic('hunter2') });
    expectProblem(wrong, 401, 'unauthorized');
    expect(wrong.headers.get('www-authenticate')).toMatch(/^Basic /);
  });

  it('lets nobody in without the scope, however it is sent', async () => {
    const poor = await api.token({ scope: 'orders merchant' });
    for (const authorization of [`Bearer ${poor}`, basic(poor)]) {
      for (const path of ['', '/api/queues', '/static/js/x.js', '/nothing']) {
        expectProblem(await get(path, { authorization }), 403, 'forbidden');
      }
    }
    // Elsewhere a password is no token: browsers would send it along with what others make them send.
    const elsewhere = await api.request('GET /v1/ops/overview', {
      headers: { authorization: basic(token) },
    });
    expectProblem(elsewhere, 401, 'unauthorized');
  });

  it('changes nothing', async () => {
    const paths = ['/api/queues/pause', '/api/queues/alarms/empty', '/api/queues/alarms/pause'];
    for (const path of paths) {
      const answer = await api.request(`PUT ${BOARD}${path as '/'}`, { token });
      expect([404, 405]).toContain(answer.status);
    }
    const { body } = await asOps<QueueList>('/api/queues');
    expect(body.queues).toMatchObject([{ isPaused: false, counts: { delayed: 1 } }]);
  });

  it('answers problems for what it does not have', async () => {
    expectProblem(await asOps('/api/queues/no-such-queue/metrics'), 404, 'not_found');
    expectProblem(await asOps('/nothing/of/that/kind'), 404, 'not_found');
    expectProblem(await asOps('/static/../../../../package.json'), 404, 'not_found');
  });

  it('says so while Redis is away, in time, and works again after it', async () => {
    await redis.cut();
    try {
      const tookMs = startStopwatch();
      expectProblem(await asOps('/api/queues'), 503, 'unavailable');
      expect(tookMs()).toBeLessThan(3_000);
      expect((await asOps('')).status).toBe(200);
      expect((await api.request('GET /v1/products')).status).toBe(200);
    } finally {
      await redis.restore();
    }
    await until('the board is back', async () => (await asOps('/api/queues')).status === 200);
  });

  it('says so, too, when Redis was away before anybody looked', async () => {
    const settings = { ROLES: 'api', REDIS_URL: 'redis://127.0.0.1:1' };
    const other = await startTestApp({ beside: api, settings });
    try {
      expectProblem(await other.request(`GET ${BOARD}/api/queues`, { token }), 503, 'unavailable');
      expect((await other.request(`GET ${BOARD}`, { token })).status).toBe(200);
    } finally {
      await other.close();
    }
  });

  it('says what Redis refuses, where it answers that', async () => {
    const admin = new Redis(redisUrl);
    const user = `board-${randomUUID()}`;
    await admin.call('ACL', 'SETUSER', user, 'on', '>pw', '~*', '&*', '+@all', '-zcard');
    const url = Object.assign(new URL(redisUrl), { username: user, password: 'pw' });
    const other = await startTestApp({
      beside: api,
      settings: { ROLES: 'api', REDIS_URL: url.href },
    });
    try {
      const answer = await other.request(`GET ${BOARD}/api/queues`, { token });
      expect(expectProblem(answer, 503, 'unavailable').detail).toMatch(
        /^Redis refuses .*: (ERR|NOPERM) /,
      );
    } finally {
      await other.close();
      await admin.call('ACL', 'DELUSER', user);
      admin.disconnect();
    }
  });

  it('is not there where the alarms are no queue', async () => {
    const other = await startTestApp({ beside: api, settings: { TIMER_DRIVER: 'memory' } });
    try {
      expectProblem(await other.request(`GET ${BOARD}`, { token }), 404, 'not_found');
    } finally {
      await other.close();
    }
  });
});
