import {
  type OrderView,
  type Page,
  type ProductDetails,
  type ProductEntry,
  type Queryable,
  runInvariants,
} from '@app/orders';
import { RESPONSES } from '../../apps/api/src/openapi/responses';
import { startTestApp, type TestApp } from '../support/app';
import { expectProblem } from '../support/problem';

describe("a merchant's view of products", () => {
  let api: TestApp;
  let merchant: string;

  beforeAll(async () => {
    api = await startTestApp({ settings: { ROLES: 'api' } });
    merchant = await api.token({ sub: 'mia', scope: 'merchant orders' });
  });
  afterAll(() => api?.close());

  const sql: Queryable = { rows: (text, params) => api.rows(text, params) };

  const path = '/v1/ops/products/TEA-MERCHANT' as const;
  const matcha = { name: 'Matcha, 30 g', unitPrice: 2_400, currency: 'EUR' };
  const put = (body: unknown) =>
    api.request<ProductDetails>(`PUT ${path}`, { token: merchant, body });
  const adjust = (delta: number, reason = 'delivery 4711') =>
    api.request<ProductDetails>(`POST ${path}/stock`, {
      token: merchant,
      body: { delta, reason },
    });
  const place = (quantity: number) =>
    api.request<OrderView>('POST /v1/orders', {
      token: merchant,
      headers: { 'idempotency-key': `k-${Math.random()}` },
      body: { items: [{ sku: 'TEA-MERCHANT', quantity }] },
    });

  it('creates one, stocks it, and lets orders keep their price when it changes', async () => {
    expectProblem(await api.request(`GET ${path}`, { token: merchant }), 404, 'product_not_found');
    expect(await put(matcha)).toMatchObject({ status: 200, body: { ...matcha, onHand: 0 } });
    expect(await adjust(5)).toMatchObject({ status: 200, body: { available: 5, onHand: 5 } });
    const order = (await place(2)).body;
    expect((await put({ ...matcha, unitPrice: 9_900, reason: 'new harvest' })).status).toBe(200);
    const orders = await api.token({ sub: 'mia' });
    const kept = await api.request<OrderView>(`GET /v1/orders/${order.id}`, { token: orders });
    expect(kept.body).toMatchObject({ amount: 4_800, items: [{ unitPrice: 2_400 }] });
    expect((await place(1)).body).toMatchObject({ amount: 9_900 });
    const { body } = await api.request<ProductDetails>(`GET ${path}`, { token: merchant });
    expect(RESPONSES.ProductDetails.safeParse(body).error?.issues ?? []).toEqual([]);
    expect(body).toMatchObject({ unitPrice: 9_900, available: 2, reserved: 3, onHand: 5 });
    expect(body.changes).toMatchObject([
      { action: 'updated', actor: 'mia', unitPrice: 9_900, reason: 'new harvest', delta: null },
      { action: 'stock', actor: 'mia', delta: 5, available: 5, reason: 'delivery 4711' },
      { action: 'created', actor: 'mia', unitPrice: 2_400, reason: null },
    ]);
    const again = await put({ ...matcha, unitPrice: 9_900, reason: 'the same' });
    expect(again.body.changes).toHaveLength(3);
  });

  it('never takes away what orders hold, however many adjust and order at once', async () => {
    expect((await adjust(10)).body).toMatchObject({ available: 12, onHand: 15 });
    const [adjusted, placed] = await Promise.all([
      Promise.all(Array.from({ length: 10 }, () => adjust(-2, 'broken'))),
      Promise.all(Array.from({ length: 5 }, () => place(1))),
    ]);
    const gone = adjusted.filter(({ status }) => status === 200).length * 2;
    const sold = placed.filter(({ status }) => status === 201).length;
    for (const refused of adjusted.filter(({ status }) => status !== 200)) {
      expectProblem(refused, 409, 'stock_out_of_range');
    }
    const { body } = await api.request<ProductDetails>(`GET ${path}`, { token: merchant });
    expect(body).toMatchObject({ available: 12 - gone - sold, reserved: 3 + sold });
    expect(body.available).toBeGreaterThanOrEqual(0);
    expectProblem(await adjust(-1 - body.available), 409, 'stock_out_of_range');
    const results = await runInvariants(sql, { limitMs: 60_000, newest: 'all' });
    expect(results.find(({ id }) => id === 7)?.violations).toBe(0);
  });

  it('counts what orders have given back before it says how much is left', async () => {
    expect((await adjust(3)).status).toBe(200);
    const order = (await place(1)).body;
    const before = (await api.request<ProductDetails>(`GET ${path}`, { token: merchant })).body;
    await api.request(`POST /v1/orders/${order.id}/cancel`, { token: merchant });
    // Given back, and not folded into the product's row: no worker runs here.
    const all = before.available + 1;
    expect(await adjust(-all)).toMatchObject({ status: 200, body: { available: 0 } });
  });

  it('lists them page by page', async () => {
    const list = async (query: string) =>
      (
        await api.request<Page<ProductEntry>>(`GET /v1/ops/products?${query}`, {
          token: merchant,
        })
      ).body;
    const all = await list('');
    expect(RESPONSES.ProductPage.safeParse(all).error?.issues ?? []).toEqual([]);
    const first = await list('limit=2');
    const rest = await list(`cursor=${first.nextCursor}`);
    expect([...first.items, ...rest.items]).toEqual(all.items);
  });

  it.each([
    [{ ...matcha, unitPrice: -1 }, 'unitPrice'],
    [{ ...matcha, unitPrice: 12.5 }, 'unitPrice'],
    [{ ...matcha, currency: 'euro' }, 'currency'],
    [{ ...matcha, name: 'Tea\u202e' }, 'name'],
    [{ ...matcha, available: 7 }, 'available'],
    [{ name: 'Tea' }, 'unitPrice'],
  ])('refuses %j', async (body, field) => {
    const { errors } = expectProblem(await put(body), 400, 'invalid_request');
    expect(errors).toContainEqual(expect.objectContaining({ field }));
  });

  it('refuses a currency that nobody could pay in, a SKU that is none, and a reason that is none', async () => {
    expectProblem(await put({ ...matcha, currency: 'XTS' }), 422, 'currency_not_supported');
    const odd = await api.request('PUT /v1/ops/products/a%20b', {
      token: merchant,
      body: matcha,
    });
    expectProblem(odd, 400, 'invalid_request');
    expectProblem(await adjust(1, '  '), 400, 'invalid_request');
    expectProblem(await adjust(0), 400, 'invalid_request');
    expectProblem(await adjust(1.5), 400, 'invalid_request');
  });
});
