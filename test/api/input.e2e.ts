import type { OrderView } from '@app/orders';
import { signedHeaders, signingKey } from '../../apps/sandbox/src/webhook-signature';
import { startTestApp, type TestApp, WEBHOOK_SECRET } from '../support/app';
import { expectProblem } from '../support/problem';

/** Everything an order's life is written in; bad input leaves it as it was. */
const STATE = `SELECT
  (SELECT json_agg(p ORDER BY sku) FROM products p) AS products,
  (SELECT json_agg(o ORDER BY id) FROM orders o) AS orders,
  (SELECT json_agg(d ORDER BY subject_id) FROM deadlines d) AS deadlines,
  (SELECT count(*) FROM order_events) AS events, (SELECT count(*) FROM payments) AS payments,
  (SELECT count(*) FROM webhook_events) AS webhooks,
  (SELECT count(*) FROM idempotency_keys) AS keys`;

const line = { sku: 'TEA-SENCHA', quantity: 1 };

const signed = (body: string, at = Date.now(), secret = WEBHOOK_SECRET) =>
  signedHeaders(signingKey(secret), 'evt_1', body, at);

describe('bad input', () => {
  let api: TestApp;
  let token: string;
  let order: OrderView;
  let before: unknown;

  beforeAll(async () => {
    // No worker: nothing but the requests of this test may change anything.
    api = await startTestApp({ settings: { ROLES: 'api' } });
    token = await api.token({ sub: 'ann', scope: 'orders merchant ops' });
    const placed = await api.request<OrderView>('POST /v1/orders', {
      token,
      headers: { 'idempotency-key': 'first' },
      body: { items: [line] },
    });
    order = placed.body;
    before = await api.rows(STATE);
  });
  afterEach(async () => expect(await api.rows(STATE)).toEqual(before));
  afterAll(() => api?.close());

  it.each<[string, unknown, string]>([
    ['no body', undefined, 'body'],
    ['a list', [], 'body'],
    ['null', null, 'body'],
    ['no items', {}, 'items'],
    ['empty items', { items: [] }, 'items'],
    ['too many items', { items: Array.from({ length: 51 }, () => line) }, 'items'],
    ['a price', { items: [{ ...line, unitPrice: 1 }] }, 'items[0].unitPrice'],
    ['a status', { items: [line], status: 'paid' }, 'status'],
    ['a deadline', { items: [line], closesAt: '2099-01-01T00:00:00Z' }, 'closesAt'],
    ['another customer', { items: [line], customerId: 'bob' }, 'customerId'],
    ['quantity 0', { items: [{ ...line, quantity: 0 }] }, 'items[0].quantity'],
    ['quantity -1', { items: [{ ...line, quantity: -1 }] }, 'items[0].quantity'],
    ['quantity 1.5', { items: [{ ...line, quantity: 1.5 }] }, 'items[0].quantity'],
    ['quantity "1"', { items: [{ ...line, quantity: '1' }] }, 'items[0].quantity'],
    ['quantity 1000', { items: [line, { ...line, quantity: 1_000 }] }, 'items[1].quantity'],
    ['an SKU with SQL', { items: [{ ...line, sku: "'; DROP" }] }, 'items[0].sku'],
    ['an SKU that is a number', { items: [{ ...line, sku: 1 }] }, 'items[0].sku'],
  ])('places nothing for %s, and names the field', async (_, body, field) => {
    const headers = { 'idempotency-key': 'second' };
    const answer = await api.request('POST /v1/orders', { token, headers, body });
    const { errors, detail } = expectProblem(answer, 400, 'invalid_request');
    expect(errors).toEqual([{ field, message: expect.any(String) as string }]);
    expect(detail).toContain(field);
  });

  it('wants an idempotency key of visible ASCII', async () => {
    const place = (headers: Record<string, string>) =>
      api.request('POST /v1/orders', { token, headers, body: { items: [line] } });
    expectProblem(await place({}), 400, 'idempotency_key_missing');
    expectProblem(await place({ 'idempotency-key': '' }), 400, 'idempotency_key_missing');
    for (const key of ['with space', 'ä', 'k'.repeat(201), 'one, two']) {
      const problem = expectProblem(
        await place({ 'idempotency-key': key }),
        400,
        'invalid_request',
      );
      expect(problem.errors?.[0]?.field).toBe('Idempotency-Key');
    }
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['status=lost', 'status'],
    ['cursor=abc', 'cursor'],
    ['sort=amount', 'sort'],
    ['customerId=bob', 'customerId'],
    ['__proto__=x', '__proto__'],
  ])('lists nothing for ?%s, and names the parameter', async (query, field) => {
    const answer = await api.request(`GET /v1/orders?${query}`, { token });
    expect(expectProblem(answer, 400, 'invalid_request').errors?.[0]?.field).toBe(field);
  });

  it.each([
    ['GET /v1/orders', 'limit=1&limit=2', 'limit'],
    ['GET /v1/orders', 'status=paid&status=closed', 'status'],
    ['GET /v1/products', 'limit=1&limit=1', 'limit'],
  ] as const)('says of %s?%s that a parameter comes once', async (route, query, field) => {
    const answer = await api.request(`${route}?${query}`, { token });
    expect(expectProblem(answer, 400, 'invalid_request').errors).toEqual([
      { field, message: 'must be given once only' },
    ]);
  });

  it.each(['payments', 'cancel', 'receipt', 'shipment'])(
    'takes no fields for %s',
    async (action) => {
      const answer = await api.request(`POST /v1/orders/${order.id}/${action}`, {
        token,
        body: { amount: 1 },
      });
      expect(expectProblem(answer, 400, 'invalid_request').errors?.[0]?.field).toBe('amount');
    },
  );

  it.each<[`POST /${string}`, unknown, string]>([
    ['POST /v1/orders/ID/extension', {}, 'seconds'],
    ['POST /v1/orders/ID/extension', { seconds: 0 }, 'seconds'],
    ['POST /v1/orders/ID/extension', { seconds: 1e9 }, 'seconds'],
    ['POST /v1/orders/ID/extension', { seconds: 60, reason: 'please' }, 'reason'],
    ['POST /v1/ops/orders/ID/extension', { seconds: 60 }, 'reason'],
    ['POST /v1/ops/orders/ID/extension', { seconds: '60', reason: 'asked' }, 'seconds'],
    ['POST /v1/ops/orders/ID/extension', { seconds: 0, reason: 'asked' }, 'seconds'],
    ['POST /v1/ops/orders/ID/extension', { seconds: -60, reason: 'asked' }, 'seconds'],
    ['POST /v1/ops/orders/ID/extension', { seconds: 86_401, reason: 'asked' }, 'seconds'],
    ['POST /v1/ops/orders/ID/force-close', {}, 'reason'],
    ['POST /v1/ops/orders/ID/force-close', { reason: 'no' }, 'reason'],
    ['POST /v1/ops/orders/ID/force-close', { reason: 'x'.repeat(501) }, 'reason'],
    ['POST /v1/ops/orders/ID/force-close', { reason: 'nul \0' }, 'reason'],
    ['POST /v1/ops/orders/ID/force-close', { reason: 'fraud', actor: 'bob' }, 'actor'],
  ])('changes nothing by %s with %j', async (route, body, field) => {
    const path = route.replace('ID', order.id) as typeof route;
    const answer = await api.request(path, { token, body });
    expect(expectProblem(answer, 400, 'invalid_request').errors?.[0]?.field).toBe(field);
  });

  it.each(['GET /v1/orders/X', 'GET /v1/orders/X/events', 'POST /v1/orders/X/payments'] as const)(
    'answers %s with 404 for an id that is none',
    async (route) => {
      const answer = await api.request(route, { token });
      expectProblem(answer, 404, 'order_not_found');
    },
  );

  it('follows no events after something that is no event', async () => {
    const answer = await api.request(`GET /v1/orders/${order.id}/events`, {
      token,
      headers: { 'last-event-id': 'x' },
    });
    const problem = expectProblem(answer, 400, 'invalid_request');
    expect(problem.errors?.[0]?.field).toBe('Last-Event-ID');
  });

  it('echoes no more of a long parameter than tells which it is', async () => {
    const name = 'x'.repeat(15_000);
    for (const query of [`${name}=1`, `status=${name}`, `limit=${name}`, `cursor=${name}`]) {
      const answer = await api.request(`GET /v1/orders?${query}`, { token });
      expectProblem(answer, 400, 'invalid_request');
      expect(JSON.stringify(answer.body).length).toBeLessThan(1_000);
    }
  });

  it('stores no webhook that is forged, stale, malformed or of nobody', async () => {
    const body = JSON.stringify({ type: 'payment.succeeded', data: {} });
    const send = (provider: string, headers: Record<string, string>, text = body) =>
      api.request(`POST /v1/webhooks/${provider}`, {
        headers: { 'content-type': 'application/json', ...headers },
        body: text,
      });
    expectProblem(await send('sandbox', {}), 400, 'bad_signature');
    expectProblem(await send('sandbox', signed(body, Date.now(), 'x')), 400, 'bad_signature');
    expectProblem(await send('sandbox', signed(body), `${body} `), 400, 'bad_signature');
    expectProblem(await send('sandbox', signed(body, 0)), 400, 'stale_timestamp');
    expectProblem(await send('sandbox', signed('{', Date.now()), '{'), 400, 'invalid_request');
    expectProblem(await send('sandbox', signed(body)), 400, 'invalid_request');
    expectProblem(await send('paypal', signed(body)), 404, 'unknown_provider');
  });

  it('verifies the bytes of a webhook whatever its type is called', async () => {
    const body = JSON.stringify({ type: 'payment.succeeded', data: {} });
    const mislabelled = 'application/json; charset=utf-16';
    for (const type of ['text/plain', 'application/octet-stream', 'application/xml', mislabelled]) {
      const answer = await api.request('POST /v1/webhooks/sandbox', {
        headers: { ...signed(body), 'content-type': type },
        body,
      });
      // The signature is good; what is wrong is the event inside.
      expectProblem(answer, 400, 'invalid_request');
    }
  });
});
