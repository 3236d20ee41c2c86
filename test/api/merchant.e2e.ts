import { randomUUID } from 'node:crypto';
import {
  type Delivery,
  DeliverWebhooks,
  FanOutEvents,
  type OrderDetailsView,
  type OrderView,
  type Page,
  type ProductDetails,
  type ProductEntry,
  type Queryable,
  runInvariants,
  type WithSecret,
} from '@app/orders';
import { Webhook } from 'standardwebhooks';
import { RESPONSES } from '../../apps/api/src/openapi/responses';
import { startTestApp, type TestApp, WEBHOOK_SECRET } from '../support/app';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { expectProblem } from '../support/problem';
import {
  type Heard,
  startWebhookListener,
  type WebhookListener,
} from '../support/webhook-listener';
import { fanOutAll } from '../support/fan-out-all';
import { sendWebhook } from '../support/send-webhook';

const TODAY = new Date().toISOString();

describe("a merchant's view", () => {
  let api: TestApp;
  let merchant: string;

  beforeAll(async () => {
    api = await startTestApp({ settings: { ROLES: 'api', WEBHOOKS_ALLOW_PRIVATE: 'on' } });
    merchant = await api.token({ sub: 'mia', scope: 'merchant' });
  });
  afterAll(() => api?.close());

  const sql: Queryable = { rows: (text, params) => api.rows(text, params) };

  const search = async (query: string): Promise<Page<OrderView>> => {
    const answer = await api.request<Page<OrderView>>(`GET /v1/ops/orders?${query}`, {
      token: merchant,
    });
    expect({ query, status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
    expect(RESPONSES.OrderPage.safeParse(answer.body).error?.issues ?? []).toEqual([]);
    return answer.body;
  };

  describe('of orders', () => {
    let anns: string[];
    let bobs: string[];

    beforeAll(async () => {
      await insertProduct(sql);
      await insertProduct(sql, 'OTHER');
      const insert = async (of: Parameters<typeof insertOrders>[1]) =>
        (await insertOrders(sql, of)).map(({ id }) => id);
      anns = await insert({ count: 3, closesInMs: 600_000, customerId: 'ann' });
      bobs = await insert({
        ...{ count: 2, closesInMs: -90_000, customerId: 'bob', sku: 'OTHER', quantity: 3 },
      });
    });

    it('finds by each filter and by several at once, newest first, page by page', async () => {
      const found = async (query: string) => (await search(query)).items.map(({ id }) => id).sort();
      const [id] = anns as [string];
      const all = [...anns, ...bobs].sort();
      expect((await search('')).items.map(({ id }) => id)).toEqual([...all].reverse());
      expect(await found('status=closing,pending_payment')).toEqual(all);
      expect(await found('status=paid,shipped')).toEqual([]);
      expect(await found('customer=bob')).toEqual([...bobs].sort());
      expect(await found('sku=OTHER')).toEqual([...bobs].sort());
      expect(await found('amount=1001..')).toEqual([...bobs].sort());
      expect(await found('amount=..1000')).toEqual([...anns].sort());
      expect(await found(`id=${id.slice(0, 35)}`)).toContain(id);
      expect(await found(`id=${id}&customer=ann`)).toEqual([id]);
      expect(await found('overdue=true')).toEqual([...bobs].sort());
      expect(await found('overdue=false')).toEqual(all);
      expect(await found('since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00%2B02:00')).toEqual(
        [],
      );
      expect(await found(`until=${TODAY}&sku=OTHER`)).toEqual([...bobs].sort());
      const first = await search('limit=3');
      const second = await search(`limit=3&cursor=${first.nextCursor}`);
      expect([first.items.length, second.items.length, second.nextCursor]).toEqual([3, 2, null]);
    });

    it.each([
      ['status=paid,shiped', 'status', /one or several of/],
      ['amount=12-20', 'amount', /minor units, or a range/],
      ['id=xyz', 'id', /how an id begins/],
      ['since=yesterday', 'since', /2026-01-31T12:00:00Z/],
      ['overdue=yes', 'overdue', /true, false/],
      ['limit=0', 'limit', /1 to 100/],
      ['sort=amount', 'sort', /not a field/],
    ])('refuses %s, and says what it should be', async (query, field, message) => {
      const answer = await api.request(`GET /v1/ops/orders?${query}`, { token: merchant });
      const { errors } = expectProblem(answer, 400, 'invalid_request');
      expect(errors).toEqual([{ field, message: expect.stringMatching(message) as string }]);
    });

    it('shows all there is to know of one, as one timeline, and changes nothing', async () => {
      const read = async (id: string) =>
        (await api.request<OrderDetailsView>(`GET /v1/ops/orders/${id}`, { token: merchant })).body;
      const [overdue] = bobs as [string];
      const seen = await read(overdue);
      expect(RESPONSES.OrderDetails.safeParse(seen).error?.issues ?? []).toEqual([]);
      expect(seen).toMatchObject({
        order: { id: overdue, status: 'pending_payment' },
        deadlines: [{ kind: 'payment' }],
      });
      expect(seen.timeline.map(({ what }) => what)).toEqual(['deadline.payment', 'order.placed']);

      const [paid] = await insertOrders(sql, { count: 1, closesInMs: 60_000, payment: 'open' });
      const { id, paymentId, amount } = paid as { id: string; paymentId: string; amount: number };
      await payBySandbox(paymentId, amount);
      const shipment = { carrier: 'DHL', trackingNumber: '0034' };
      const shipped = await api.request<OrderView>(`POST /v1/orders/${id}/shipment`, {
        token: merchant,
        body: shipment,
      });
      expect(shipped).toMatchObject({ status: 200, body: { status: 'shipped', shipment } });
      const whole = await read(id);
      expect(RESPONSES.OrderDetails.safeParse(whole).error?.issues ?? []).toEqual([]);
      expect(whole.webhooks).toMatchObject([
        { type: 'payment.succeeded', paymentId, result: 'paid' },
      ]);
      const whats = whole.timeline.map(({ what }) => what);
      expect(new Set(whats)).toEqual(
        new Set([
          ...['order.placed', 'payment.opened', 'webhook.payment.succeeded', 'money.captured'],
          ...['order.paid', 'order.shipped', 'deadline.receipt'],
        ]),
      );
      expect(whats.at(-1)).toBe('deadline.receipt');
      const instants = whole.timeline.map(({ at }) => at);
      expect(instants).toEqual([...instants].sort());
      expect(whole.timeline.find(({ what }) => what === 'money.captured')).toMatchObject({
        ...{ by: 'webhook', subjectId: paymentId, amount, currency: 'EUR' },
      });
    });

    it('shows the parcel to the customer, and takes no text that plays with a terminal', async () => {
      const [paid] = await insertOrders(sql, {
        ...{ count: 1, closesInMs: 60_000, payment: 'open', customerId: 'cleo' },
      });
      const { id, paymentId, amount } = paid as { id: string; paymentId: string; amount: number };
      await payBySandbox(paymentId, amount);
      const ship = (body: unknown) =>
        api.request<OrderView>(`POST /v1/orders/${id}/shipment`, { token: merchant, body });
      expectProblem(await ship({ carrier: 'D\u001b[2JHL' }), 400, 'invalid_request');
      expectProblem(await ship({ trackingUrl: 'x' }), 400, 'invalid_request');
      expect((await ship({ trackingNumber: 'T1' })).status).toBe(200);
      const cleo = await api.token({ sub: 'cleo' });
      const { body } = await api.request<OrderView>(`GET /v1/orders/${id}`, { token: cleo });
      expect(body.shipment).toEqual({ carrier: null, trackingNumber: 'T1' });
    });
  });

  describe('of products', () => {
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

    beforeAll(async () => (merchant = await api.token({ sub: 'mia', scope: 'merchant orders' })));

    it('creates one, stocks it, and lets orders keep their price when it changes', async () => {
      expectProblem(
        await api.request(`GET ${path}`, { token: merchant }),
        404,
        'product_not_found',
      );
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

  describe('of webhook endpoints', () => {
    let listener: WebhookListener;
    beforeAll(async () => (listener = await startWebhookListener()));
    afterAll(() => listener?.close());

    const path = '/v1/ops/webhook-endpoints';
    const ask = <Body>(route: `${'GET' | 'POST' | 'DELETE'} /${string}`, body?: unknown) =>
      api.request<Body>(route, { token: merchant, ...(body === undefined ? {} : { body }) });

    it('takes as many ids to send again as it says, however they are written', async () => {
      const redeliver = (count: number) => {
        const deliveries = Array.from({ length: count }, () => randomUUID());
        const body = JSON.stringify({ deliveries, reason: '\u00fc'.repeat(500) }, null, 4);
        return ask(`POST ${path}/${randomUUID()}/redeliver`, body);
      };
      expectProblem(await redeliver(1_000), 404, 'webhook_endpoint_not_found');
      const { errors } = expectProblem(await redeliver(1_001), 400, 'invalid_request');
      expect(errors).toMatchObject([{ message: 'must have at most 1000 ids' }]);
    });

    it('makes one, tries it, sends to it, and takes it away; the secret is told once', async () => {
      const made = await ask<WithSecret>(`POST ${path}`, {
        ...{ url: listener.url, events: ['order.placed'], reason: 'the warehouse' },
      });
      expect(made.status).toBe(201);
      const { endpoint, secret } = made.body;
      expect(await ask(`POST ${path}/${endpoint.id}/test`)).toMatchObject({
        ...{ status: 200, body: { isDelivered: true, answer: 204, error: null } },
      });
      for (const body of [[], { url: 'https://elsewhere.example' }]) {
        const refused = await ask(`POST ${path}/${endpoint.id}/test`, body);
        expectProblem(refused, 400, 'invalid_request');
      }
      const sent = listener.heard.at(-1) as Heard;
      new Webhook(secret).verify(sent.body, sent.headers);

      const [order] = await insertOrders(sql, { count: 1, closesInMs: 60_000 });
      await fanOutAll(sql, api.app.get(FanOutEvents));
      await api.app.get(DeliverWebhooks).runOnce();
      expect(listener.heard.at(-1)).toMatchObject({ type: 'order.placed', version: 1 });
      const { body: deliveries } = await ask<Page<Delivery>>(
        `GET ${path}/${endpoint.id}/deliveries?status=delivered`,
      );
      // Orders of just before may be told too: it begins with the oldest transaction that was open then.
      const delivered = deliveries.items.filter(({ orderId }) => orderId === order?.id);
      expect(delivered).toMatchObject([{ type: 'order.placed', attempts: 1, answer: 204 }]);
      const again = await ask(`POST ${path}/${endpoint.id}/redeliver`, {
        deliveries: delivered.map(({ id }) => id),
      });
      expect(again.body).toEqual({ redelivered: 1 });
      const nobody = await ask(`POST ${path}/${endpoint.id}/redeliver`, {
        deliveries: [endpoint.id],
      });
      expectProblem(nobody, 404, 'webhook_delivery_not_found');

      const rotated = await ask<WithSecret>(`POST ${path}/${endpoint.id}/rotate`);
      expect(rotated.body.secret).not.toBe(secret);
      const enabled = await ask(`POST ${path}/${endpoint.id}/enable`, { reason: 'mended' });
      const list = await ask(`GET ${path}`);
      expect(JSON.stringify(list.body)).not.toContain('whsec_');
      const answers = [
        ['WebhookEndpointWithSecret', made.body],
        ['WebhookEndpointWithSecret', rotated.body],
        ['WebhookEndpoint', enabled.body],
        ['WebhookEndpoint', (await ask(`GET ${path}/${endpoint.id}`)).body],
        ['WebhookEndpointList', list.body],
        ['DeliveryPage', deliveries],
      ] as const;
      for (const [name, body] of answers) {
        const issues = RESPONSES[name].safeParse(body).error?.issues ?? [];
        expect({ name, issues }).toEqual({ name, issues: [] });
      }
      expect((await ask(`DELETE ${path}/${endpoint.id}`)).body).toEqual({ id: endpoint.id });
      for (const route of [`GET ${path}/${endpoint.id}`, `DELETE ${path}/x`] as const) {
        expectProblem(await ask(route), 404, 'webhook_endpoint_not_found');
      }
    });

    it.each([
      [{ url: 'https://shop.example/', events: [] }, 'events'],
      [{ url: 'https://shop.example/', events: ['order.lost'] }, 'events[0]'],
      [{ url: 'gopher://shop.example/', events: ['*'] }, 'url'],
      [{ url: 'https://a:b@shop.example/', events: ['*'] }, 'url'],
      [{ url: 'https://shop.example/', events: ['*'], secret: 'mine' }, 'secret'],
    ])('refuses %j', async (body, field) => {
      const { errors } = expectProblem(await ask(`POST ${path}`, body), 400, 'invalid_request');
      expect(errors).toContainEqual(expect.objectContaining({ field }));
    });
  });

  async function payBySandbox(paymentId: string, amount: number): Promise<void> {
    const data = {
      ...{ providerPaymentId: `pay-${paymentId}`, reference: paymentId, amount, currency: 'EUR' },
      paidAt: new Date().toISOString(),
    };
    const body = JSON.stringify({ type: 'payment.succeeded', data });
    expect(await sendWebhook(api.baseUrl, WEBHOOK_SECRET, body)).toBe(200);
  }
});
