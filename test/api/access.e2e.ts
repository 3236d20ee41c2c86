import { RequestMethod, type Type } from '@nestjs/common';
import { ModulesContainer, Reflector } from '@nestjs/core';
import { Access } from '@app/orders/http';
import { startTestApp, type TestApp } from '../support/app';
import { expectProblem } from '../support/problem';

/** Routes that no controller declares: the OpenAPI document, which is public. */
const UNDECLARED = ['GET /docs-json', 'HEAD /docs-json'];
const EXPECTED: Record<string, string> = {
  'GET /health/live': 'public',
  'GET /health/ready': 'public',
  'GET /metrics': 'metrics',
  'GET /v1/products': 'public',
  'POST /v1/orders': 'orders',
  'GET /v1/orders': 'orders',
  'GET /v1/orders/:id': 'orders',
  'GET /v1/orders/:id/events': 'orders',
  'POST /v1/orders/:id/stream-token': 'orders',
  'POST /v1/orders/:id/checkout-link': 'orders',
  'POST /v1/orders/:id/again': 'orders',
  'POST /v1/orders/:id/payments': 'orders',
  'POST /v1/orders/:id/cancel': 'orders',
  'POST /v1/orders/:id/receipt': 'orders',
  'POST /v1/orders/:id/extension': 'orders',
  'POST /v1/orders/:id/shipment': 'merchant',
  'POST /v1/webhooks/:provider': 'public',
  'GET /v1/ops/orders': 'merchant or ops:read',
  'GET /v1/ops/orders/:id': 'merchant or ops:read',
  'POST /v1/ops/webhook-endpoints': 'merchant or ops:write',
  'GET /v1/ops/webhook-endpoints': 'merchant or ops:read',
  'GET /v1/ops/webhook-endpoints/:id': 'merchant or ops:read',
  'DELETE /v1/ops/webhook-endpoints/:id': 'merchant or ops:write',
  'POST /v1/ops/webhook-endpoints/:id/rotate': 'merchant or ops:write',
  'POST /v1/ops/webhook-endpoints/:id/enable': 'merchant or ops:write',
  'POST /v1/ops/webhook-endpoints/:id/test': 'merchant or ops:write',
  'GET /v1/ops/webhook-endpoints/:id/deliveries': 'merchant or ops:read',
  'POST /v1/ops/webhook-endpoints/:id/redeliver': 'merchant or ops:write',
  'GET /v1/ops/products': 'merchant or ops:read',
  'GET /v1/ops/products/:sku': 'merchant or ops:read',
  'PUT /v1/ops/products/:sku': 'merchant or ops:write',
  'POST /v1/ops/products/:sku/stock': 'merchant or ops:write',
  'GET /v1/ops/overview': 'ops:read',
  'POST /v1/ops/orders/:id/force-close': 'ops:write',
  'POST /v1/ops/orders/:id/extension': 'ops:write',
  'POST /v1/ops/orders/:id/cancel': 'ops:write',
  'POST /v1/ops/orders/:id/refunds': 'ops:write',
  'POST /v1/ops/orders/:id/settle': 'ops:write',
  'POST /v1/ops/refunds/:id/settle': 'ops:write',
  'GET /assets/:name': 'public',
  'GET /checkout/:id': 'public',
  'GET /checkout/:id/pay': 'public',
  'GET /console': 'public',
  'POST /console/session': 'public',
  'GET /console/session': 'ops:read',
  'DELETE /console/session': 'ops:read',
  'GET /console/api/now': 'ops:read',
  'GET /console/api/work': 'ops:read',
  'GET /console/api/audit': 'ops:read',
  'POST /console/api/actions': 'ops:write',
  'POST /console/api/timeouts/resume': 'ops:admin',
  'GET /console/api/sessions': 'ops:admin',
  'DELETE /console/api/sessions/:id': 'ops:admin',
  'GET /v1/ops/queues': 'ops:read',
  'GET /v1/ops/queues/*': 'ops:read',
};
/** Public to the guard, as its caller has no session yet: what it asks for is in console.e2e.ts. */
const ASKS_ITSELF = ['POST /console/session'];
const SCOPES = ['orders', 'merchant', 'ops:read', 'ops:write', 'ops:admin', 'metrics'];

/** What every handler of every controller declares, by its route. */
function declarations({ app }: TestApp): Map<string, string | undefined> {
  const reflector = app.get(Reflector);
  const routes = new Map<string, string | undefined>();
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [
    ...module.controllers.values(),
  ]);
  for (const { metatype } of controllers) {
    const type = metatype as Type;
    const base = Reflect.getMetadata('path', type) as string;
    for (const name of Object.getOwnPropertyNames(type.prototype)) {
      if (name === 'constructor') continue;
      const handler = (type.prototype as Record<string, () => unknown>)[name];
      const path = handler && (Reflect.getMetadata('path', handler) as string | undefined);
      if (!handler || path === undefined) continue;
      const method = RequestMethod[Reflect.getMetadata('method', handler) as RequestMethod];
      const url = `/${base}/${path}`.replace(/\/+/g, '/').replace(/(.)\/$/, '$1');
      const access = reflector.getAllAndOverride(Access, [handler, type]);
      routes.set(`${method} ${url}`, access && [access].flat().join(' or '));
    }
  }
  return routes;
}

type Route = `GET /${string}`;
const concrete = (route: string) =>
  route.replace(':id', '0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e').replace(':provider', 'x') as Route;

describe('who may do what', () => {
  let api: TestApp;
  beforeAll(async () => (api = await startTestApp({ settings: { ROLES: 'api' } })));
  afterAll(() => api?.close());

  it('is declared by every route that is served', () => {
    const declared = declarations(api);
    for (const [route, access] of declared) {
      expect(`${route} needs ${access}`).toMatch(
        / needs (public|(orders|merchant|ops:read|ops:write|ops:admin|metrics)( or [a-z:]+)*)$/,
      );
    }
    const served = api.routes.list().filter((route) => !UNDECLARED.includes(route));
    const known = new Set(declared.keys());
    expect(served.filter((route) => !known.has(route.replace('HEAD', 'GET')))).toEqual([]);
  });

  it('is what the contract says', () => {
    expect(Object.fromEntries(declarations(api))).toEqual(EXPECTED);
  });

  describe.each(Object.entries(EXPECTED).filter(([, access]) => access !== 'public'))(
    '%s',
    (route, needs) => {
      const scopes = needs.split(' or ');

      it('refuses callers without a good token', async () => {
        const none = await api.request(concrete(route));
        expectProblem(none, 401, 'unauthorized');
        expect(none.headers.get('www-authenticate')).toBe('Bearer realm="lastcall"');
        const expired = await api.token({ scope: needs, expiresIn: -1 });
        for (const token of ['x', 'a.b.c', expired]) {
          const answer = await api.request(concrete(route), { token });
          expectProblem(answer, 401, 'unauthorized');
          expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
        }
      });

      it(`refuses callers without the scope ${needs}`, async () => {
        const others = SCOPES.filter((name) => !scopes.includes(name)).join(' ');
        for (const given of ['', others, `${scopes[0]}x`]) {
          const token = await api.token({ scope: given });
          const answer = await api.request(concrete(route), { token });
          expectProblem(answer, 403, 'forbidden');
          expect(answer.headers.get('www-authenticate')).toContain('insufficient_scope');
        }
      });

      it.each(scopes)(`lets callers with the scope %s in`, async (scope) => {
        const answer = await api.request(concrete(route), { token: await api.token({ scope }) });
        expect([401, 403, 500]).not.toContain(answer.status);
      });
    },
  );

  it('lets ops into all that operators do, and nowhere else', async () => {
    const token = await api.token({ scope: 'ops' });
    for (const [route, access] of Object.entries(EXPECTED)) {
      if (access === 'public') continue;
      const { status } = await api.request(concrete(route), { token });
      const isTheirs = access.includes('ops:') || access === 'metrics';
      expect(`${route}: ${status === 403}`).toBe(`${route}: ${!isTheirs}`);
    }
  });

  it('lets everybody into what is public', async () => {
    for (const [route, access] of Object.entries(EXPECTED)) {
      if (access !== 'public' || ASKS_ITSELF.includes(route)) continue;
      const { status } = await api.request(concrete(route), { token: 'not a token' });
      expect(`${route}: ${status}`).not.toMatch(/: (401|403|500)$/);
    }
  });
});

describe('a process that only works', () => {
  it('can be watched, and serves nothing else', async () => {
    const worker = await startTestApp({ settings: { ROLES: 'worker' } });
    try {
      expect(worker.routes.list().sort()).toEqual([
        'GET /health/live',
        'GET /health/ready',
        'GET /metrics',
        'HEAD /health/live',
        'HEAD /health/ready',
        'HEAD /metrics',
      ]);
      expectProblem(await worker.request('GET /v1/products'), 404, 'not_found');
      expectProblem(await worker.request('GET /metrics'), 401, 'unauthorized');
      const token = await worker.token({ scope: 'ops' });
      const metrics = await worker.request<string>('GET /metrics', { token });
      expect(metrics.status).toBe(200);
      expect(metrics.headers.get('content-type')).toMatch(/^text\/plain/);
      expect(metrics.body).toMatch(/^lastcall_overdue_deadlines 0$/m);
    } finally {
      await worker.close();
    }
  });
});
