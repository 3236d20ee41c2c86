import { shutDown } from '../../apps/api/src/shut-down';
import { startTestApp, type TestApp } from '../support/app';
import { expectProblem } from '../support/problem';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { takeRedisDatabase } from '../support/redis';
import { startStopwatch } from '../support/stopwatch';

describe('health', () => {
  let api: TestApp;
  let redis: TcpProxy;

  beforeAll(async () => {
    redis = await startTcpProxy(await takeRedisDatabase());
    api = await startTestApp({
      settings: { REDIS_URL: redis.url },
    });
  });
  afterAll(async () => {
    await api?.close();
    await redis?.close();
  });

  const place = async (key: string) =>
    api.request('POST /v1/orders', {
      token: await api.token(),
      headers: { 'idempotency-key': key },
      body: { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] },
    });

  it('is alive and ready with everything up', async () => {
    expect(await api.request('GET /health/live')).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    });
    expect(await api.request('GET /health/ready')).toMatchObject({
      status: 200,
      body: { status: 'ok', checks: { postgres: 'up', redis: 'up' } },
    });
  });

  it('is degraded without Redis, and still takes orders', async () => {
    await redis.cut();
    try {
      expect(await api.request('GET /health/ready')).toMatchObject({
        status: 200,
        body: { status: 'degraded', checks: { postgres: 'up', redis: 'down' } },
      });
      const tookMs = startStopwatch();
      expect((await place('without-redis')).status).toBe(201);
      expect(tookMs()).toBeLessThan(3_000);
    } finally {
      await redis.restore();
    }
    expect((await api.request('GET /health/ready')).body).toMatchObject({ status: 'ok' });
  });

  it('is degraded where Redis has no database of that number', async () => {
    const REDIS_URL = new URL('/999999', redis.url).href;
    const lost = await startTestApp({ beside: api, settings: { ROLES: 'api', REDIS_URL } });
    try {
      expect((await lost.request('GET /health/ready')).body).toMatchObject({
        status: 'degraded',
        checks: { redis: 'down' },
      });
    } finally {
      await lost.close();
    }
  });

  it('is not ready while it drains, but alive', async () => {
    const leaving = await startTestApp({ beside: api, settings: { ROLES: 'api' } });
    let close = (): void => undefined;
    const gone = shutDown(leaving, new Promise((resolve) => (close = resolve)));
    try {
      const ready = await leaving.request('GET /health/ready');
      expectProblem(ready, 503, 'unavailable');
      expect(ready.headers.get('connection')).toBe('close');
      expect((await leaving.request('GET /health/live')).status).toBe(200);
    } finally {
      close();
      await gone;
    }
    await expect(leaving.request('GET /health/live')).rejects.toThrow('fetch failed');
  });
});
