import type { OrderDetailsView, OrderView, Page, Queryable } from '@app/orders';
import { RESPONSES } from '../../apps/api/src/openapi/responses';
import { startTestApp, type TestApp, WEBHOOK_SECRET } from '../support/app';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { expectProblem } from '../support/problem';
import { sendWebhook } from '../support/send-webhook';

const TODAY = new Date().toISOString();

describe("a merchant's view of orders", () => {
  let api: TestApp;
  let merchant: string;

  beforeAll(async () => {
    api = await startTestApp({ settings: { ROLES: 'api' } });
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
    expect(await found('since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00%2B02:00')).toEqual([]);
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

  async function payBySandbox(paymentId: string, amount: number): Promise<void> {
    const data = {
      ...{ providerPaymentId: `pay-${paymentId}`, reference: paymentId, amount, currency: 'EUR' },
      paidAt: new Date().toISOString(),
    };
    const body = JSON.stringify({ type: 'payment.succeeded', data });
    expect(await sendWebhook(api.baseUrl, WEBHOOK_SECRET, body)).toBe(200);
  }
});
