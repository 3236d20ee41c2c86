import { randomUUID } from 'node:crypto';
import type { OrderView, StockPort } from '@app/orders';
import { startTestApp, type TestApp } from '../support/app';
import { expectProblem } from '../support/problem';

/* Refusals of single routes that no story of another test comes across. */

const SCOPES = 'orders merchant ops';
const reason = 'asked by phone';

let api: TestApp;
let strict: TestApp;
let token: string;

beforeAll(async () => {
  api = await startTestApp({ settings: { ROLES: 'api' } });
  strict = await startTestApp({
    beside: api,
    settings: {
      ...{ ROLES: 'api', CUSTOMER_EXTENSION: '2m' },
      ...{ MAX_OPEN_ORDERS: '2', MAX_HELD_UNITS: '3', MAX_UNPAID_IN_A_ROW: '1' },
    },
  });
  token = await api.token({ scope: SCOPES });
  await sell('XTS-THING', 'XTS', 500);
  await sell('FREE', 'EUR', 0);
});
afterAll(async () => {
  await strict?.close();
  await api?.close();
});

const sell = (sku: string, currency: string, price: number) =>
  api.rows(
    `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
     VALUES ($1, $1, $2, $3, 100, 100)`,
    [sku, price, currency],
  );
const post = <Body = OrderView>(path: string, body?: object, by = token, at = api) =>
  at.request<Body>(`POST /v1/${path}`, {
    token: by,
    body,
    headers: { 'idempotency-key': randomUUID() },
  });
const place = async (skus: string[], quantity = 1, by = token, at = api) =>
  post('orders', { items: skus.map((sku) => ({ sku, quantity })) }, by, at);

it('refuses what cannot be ordered together, or at all', async () => {
  expectProblem(await place(['TEA-NOBODY']), 422, 'unknown_sku');
  expectProblem(await place(['TEA-SENCHA', 'XTS-THING']), 422, 'mixed_currencies');
});

it('refuses what an order that is over lets nobody do any more', async () => {
  const { id } = (await place(['TEA-SENCHA'])).body;
  expect((await post(`orders/${id}/cancel`)).status).toBe(200);
  const shipment = { carrier: 'DHL' };
  for (const [path, body, code] of [
    [`orders/${id}/cancel`, undefined, 'order_not_cancelable'],
    [`orders/${id}/payments`, undefined, 'order_not_payable'],
    [`orders/${id}/receipt`, undefined, 'order_not_receivable'],
    [`orders/${id}/shipment`, shipment, 'order_not_shippable'],
    [`ops/orders/${id}/cancel`, { reason }, 'order_not_cancelable'],
    [`ops/orders/${id}/force-close`, { reason }, 'order_not_closable'],
    [`ops/orders/${id}/settle`, { as: 'paid', reason }, 'order_not_settleable'],
    [`ops/orders/${id}/extension`, { seconds: 60, reason }, 'order_not_extendable'],
    [`ops/orders/${id}/refunds`, { amount: 1, reason }, 'refund_exceeds_balance'],
  ] as const) {
    expectProblem(await post(path, body), 409, code);
  }
});

it('answers a refund that is not there with its code, whatever its id looks like', async () => {
  for (const id of [randomUUID(), 'none']) {
    const refused = await post(`ops/refunds/${id}/settle`, { as: 'done', reason });
    expectProblem(refused, 404, 'refund_not_found');
  }
  expectProblem(
    await post('ops/refunds/none/settle', { as: 'paid', reason }),
    400,
    'invalid_request',
  );
});

it('lets operators extend, cancel, settle and refund, and refund no more than there is', async () => {
  const waiting = (await place(['TEA-SENCHA'])).body.id;
  const extended = await post(`ops/orders/${waiting}/extension`, { seconds: 60, reason });
  expect(extended.status).toBe(200);
  const extend = (seconds: number) =>
    api.request<OrderView>(`POST /v1/ops/orders/${waiting}/extension`, {
      ...{ token, body: { seconds, reason }, headers: { 'idempotency-key': 'case-8' } },
    });
  const [given, known] = [await extend(60), await extend(60)];
  expect([given.status, given.headers.get('idempotent-replayed')]).toEqual([200, null]);
  expect([known.status, known.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(known.body.closesAt).toBe(given.body.closesAt);
  expectProblem(await extend(30), 422, 'idempotency_key_reused');
  const free = (await place(['FREE'])).body;
  expect(free.status).toBe('paid');
  const canceled = await post(`ops/orders/${free.id}/cancel`, { reason });
  expect([canceled.status, canceled.body.status]).toEqual([200, 'canceled']);
  // Nobody is at SANDBOX_URL: what became of the payment stays unknown, until an operator knows.
  expectProblem(await post(`orders/${waiting}/payments`), 502, 'provider_error');
  expect((await post(`orders/${waiting}/cancel`)).body.status).toBe('closing');
  const settled = await post(`ops/orders/${waiting}/settle`, { as: 'paid', reason });
  expect([settled.status, settled.body.status]).toEqual([200, 'paid']);
  const restock = [{ sku: 'TEA-SENCHA', quantity: 5 }];
  const tooMany = await post(`ops/orders/${waiting}/refunds`, { amount: 1, reason, restock });
  expectProblem(tooMany, 409, 'restock_exceeds_order');
  const refund = (amount: number) =>
    api.request<OrderView>(`POST /v1/ops/orders/${waiting}/refunds`, {
      ...{ token, body: { amount, reason }, headers: { 'idempotency-key': 'case-9' } },
    });
  const [made, again] = [await refund(1), await refund(1)];
  expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null]);
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  expect(
    await api.rows('SELECT FROM refunds WHERE payment_id = $1', [again.body.payments[0]?.id]),
  ).toHaveLength(1);
  expectProblem(await refund(2), 422, 'idempotency_key_reused');
});

it('gives a customer more time once for each key, and for nothing else by it', async () => {
  const { id } = (await place(['TEA-SENCHA'])).body;
  const extend = (seconds: number) =>
    strict.request<OrderView>(`POST /v1/orders/${id}/extension`, {
      ...{ token, body: { seconds }, headers: { 'idempotency-key': 'once' } },
    });
  const [given, known] = [await extend(60), await extend(60)];
  expect([given.status, given.headers.get('idempotent-replayed')]).toEqual([200, null]);
  expect([known.status, known.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(known.body.closesAt).toBe(given.body.closesAt);
  expectProblem(await extend(30), 422, 'idempotency_key_reused');
});

it('takes no pieces back for a stock that cannot hear of them', async () => {
  const stock: StockPort = { reserve: async () => [], apply: async () => undefined };
  const hosts = await startTestApp({ settings: { ROLES: 'api' }, parts: { stock } });
  try {
    const lines = [{ sku: 'TEA-SENCHA', quantity: 1 }];
    const { id } = (await post('orders', { items: lines }, token, hosts)).body;
    // As above: only an operator knows that it is paid.
    for (const path of ['payments', 'cancel']) {
      await post(`orders/${id}/${path}`, undefined, token, hosts);
    }
    await post(`ops/orders/${id}/settle`, { as: 'paid', reason }, token, hosts);
    const refund = { amount: 1, reason, restock: lines };
    const refused = await post(`ops/orders/${id}/refunds`, refund, token, hosts);
    expectProblem(refused, 409, 'restock_not_supported');
  } finally {
    await hosts.close();
  }
});

it('opens no payment in a currency that is none, and none where there are too many', async () => {
  const { id } = (await place(['XTS-THING'])).body;
  expectProblem(await post(`orders/${id}/payments`), 422, 'currency_not_supported');
  // Twenty that the provider has made, or very many that it has not.
  for (const [payments, made] of [
    [20, true],
    [500, false],
  ]) {
    await api.rows(
      `WITH others AS (DELETE FROM payments WHERE order_id = $1)
       INSERT INTO payments (id, order_id, provider, provider_payment_id, amount, currency, status,
                             expires_at)
       SELECT gen_random_uuid(), $1, 'sandbox', CASE WHEN $3 THEN 'pay-' || n END, 500, 'XTS',
              'failed', now() FROM generate_series(1, $2::int) AS n`,
      [id, payments, made],
    );
    expectProblem(await post(`orders/${id}/payments`), 409, 'too_many_payments');
  }
});

it('limits what a customer holds, also when an old order is placed again', async () => {
  const customer = (sub: string) => api.token({ sub, scope: 'orders' });
  const [eve, max, uma] = [await customer('eve'), await customer('max'), await customer('uma')];
  const closedOrder = async (by: string, skus = ['TEA-SENCHA'], quantity = 1) => {
    const { id } = (await place(skus, quantity, by)).body;
    await post(`orders/${id}/cancel`, undefined, by);
    return id;
  };
  const again = (id: string, by: string, at = api) => post(`orders/${id}/again`, undefined, by, at);
  const large = await closedOrder(max, ['TEA-SENCHA'], 4);
  const small = await closedOrder(eve);
  await api.rows('DELETE FROM unpaid_streaks');
  expectProblem(await place(['TEA-SENCHA'], 4, max, strict), 409, 'too_many_units');
  expectProblem(await again(large, max, strict), 409, 'too_many_units');
  for (let i = 0; i < 2; i++) await place(['TEA-SENCHA'], 1, eve, strict);
  expectProblem(await place(['TEA-SENCHA'], 1, eve, strict), 429, 'too_many_open_orders');
  expectProblem(await again(small, eve, strict), 429, 'too_many_open_orders');
  const unpaid = await closedOrder(uma, ['TEA-SENCHA', 'FREE']);
  await api.rows(`INSERT INTO unpaid_streaks VALUES ('uma', 5, now())
                  ON CONFLICT (customer_id) DO UPDATE SET in_a_row = 5, last_at = now()`);
  expectProblem(await place(['TEA-SENCHA'], 1, uma, strict), 429, 'ordering_paused');
  expectProblem(await again(unpaid, uma, strict), 429, 'ordering_paused');
  // What was sold once may be gone, or sold otherwise.
  await api.rows(`UPDATE products SET currency = 'USD' WHERE sku = 'FREE'`);
  expectProblem(await again(unpaid, uma), 422, 'mixed_currencies');
  await api.rows(`DELETE FROM products WHERE sku = 'FREE'`);
  expectProblem(await again(unpaid, uma), 422, 'unknown_sku');
  // And what was given back, before it is folded into the product.
  await api.rows('DELETE FROM unfolded_stock_movements');
  await api.rows(`UPDATE products SET on_hand = on_hand - available, available = 0
                   WHERE sku = 'TEA-SENCHA'`);
  expectProblem(await again(small, eve), 409, 'out_of_stock');
});

it('sends webhooks to so many endpoints, and to no more', async () => {
  const add = (i: number) =>
    post('ops/webhook-endpoints', { url: `https://shop.example/${i}`, events: ['order.paid'] });
  for (let i = 0; i < 20; i++) expect((await add(i)).status).toBe(201);
  expectProblem(await add(20), 409, 'too_many_webhook_endpoints');
});
