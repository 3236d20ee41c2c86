import { startTestApp, type TestApp } from './support/app';

describe('health', () => {
  let api: TestApp;
  beforeAll(async () => (api = await startTestApp()));
  afterAll(() => api?.close());

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
});
