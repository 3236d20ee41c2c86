import type { OrderView } from '@app/orders';
import { startTestApp, type TestApp } from '../support/app';
import { expectProblem } from '../support/problem';
import { until } from '../support/until';

interface Page {
  items: OrderView[];
  nextCursor: string | null;
}

const UNKNOWN_ID = '0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e';

describe('the storefront', () => {
  let api: TestApp;
  let ann: string;
  let bob: string;
  let keys = 0;

  const place = (token: string, key = `key-${(keys += 1)}`, quantity = 1) =>
    api.request<OrderView>('POST /v1/orders', {
      token,
      headers: { 'idempotency-key': key },
      body: { items: [{ sku: 'TEA-SENCHA', quantity }] },
    });

  beforeAll(async () => {
    api = await startTestApp();
    [ann, bob] = [await api.token({ sub: 'ann' }), await api.token({ sub: 'bob' })];
  });
  afterAll(() => api?.close());

  it('lists what can be ordered, to everybody', async () => {
    const { status, body } = await api.request<{ items: { sku: string }[] }>('GET /v1/products');
    expect(status).toBe(200);
    expect(body.items.map(({ sku }) => sku)).toContain('TEA-SENCHA');
  });

  it('lists all that can be ordered, however much it is, in pages', async () => {
    await api.rows(
      `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
       SELECT 'MANY-' || n, 'One of many', 500, 'EUR', 0, 0 FROM generate_series(1, 2500) AS n`,
    );
    const all = await api.rows<{ sku: string }>('SELECT sku FROM products ORDER BY sku');
    for (const [query, pages] of [
      ['', 3],
      ['&limit=700', 4],
    ] as const) {
      const found: string[] = [];
      const sizes: number[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const page: { items: { sku: string }[]; nextCursor: string | null } = (
          await api.request<{ items: { sku: string }[]; nextCursor: string | null }>(
            `GET /v1/products?${cursor === '' ? '' : `cursor=${cursor}`}${query}`,
          )
        ).body;
        found.push(...page.items.map(({ sku }) => sku));
        sizes.push(page.items.length);
        cursor = page.nextCursor ?? null;
      }
      expect([found, sizes.length]).toEqual([all.map(({ sku }) => sku), pages]);
      expect(sizes[0]).toBe(query === '' ? 1_000 : 700);
    }
    await api.rows(`DELETE FROM products WHERE sku LIKE 'MANY-%'`);
    for (const wrong of ['limit=0', 'limit=1001', 'cursor=a%20b']) {
      const refused = await api.request(`GET /v1/products?${wrong}`);
      expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    }
  });

  it('places an order, and answers a repeated request with the same order', async () => {
    const first = await place(ann, 'same');
    expect(first).toMatchObject({
      status: 201,
      body: { customerId: 'ann', status: 'pending_payment', amount: 1_250, currency: 'EUR' },
    });
    expect(first.headers.has('idempotent-replayed')).toBe(false);
    expect(first.headers.get('location')).toBe(`/v1/orders/${first.body.id}`);
    const second = await place(ann, 'same');
    expect(second.status).toBe(201);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.body.id).toBe(first.body.id);
    expectProblem(await place(ann, 'same', 2), 422, 'idempotency_key_reused');
    expect((await place(bob, 'same')).body.id).not.toBe(first.body.id);
  });

  it('places an order for the total that was shown, and for no other', async () => {
    const order = (expectedTotal: number, key: string) =>
      api.request<OrderView>('POST /v1/orders', {
        token: ann,
        headers: { 'idempotency-key': key },
        body: { items: [{ sku: 'TEA-SENCHA', quantity: 2 }], expectedTotal },
      });
    const refused = expectProblem(await order(2_400, 'dear'), 409, 'total_changed');
    expect(refused).toMatchObject({ total: 2_500, expectedTotal: 2_400, currency: 'EUR' });
    // The refusal has used up nothing: the same key places the order once the customer agrees.
    const placed = await order(2_500, 'dear');
    expect([placed.status, placed.body.amount]).toEqual([201, 2_500]);
    expectProblem(await order(2_400, 'dear'), 422, 'idempotency_key_reused');
  });

  it('answers 304 to whoever has the order as it is', async () => {
    const { id } = (await place(ann)).body;
    const read = (tag?: string) =>
      api.request<OrderView>(`GET /v1/orders/${id}`, {
        token: ann,
        headers: tag === undefined ? {} : { 'if-none-match': tag },
      });
    const first = await read();
    const tag = first.headers.get('etag') as string;
    expect(tag).toMatch(/^W\/"[\w-]{27}"$/);
    for (const same of [tag, tag.slice(2), `"x", ${tag}`, '*']) {
      const again = await read(same);
      expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, '', tag]);
    }
    expect((await read('"x"')).status).toBe(200);
    await api.request(`POST /v1/orders/${id}/payments`, { token: ann });
    await api.request(`POST /v1/orders/${id}/cancel`, { token: ann });
    const changed = await read(tag);
    expect([changed.status, changed.headers.get('etag') === tag]).toEqual([200, false]);
  });

  it("answers for somebody else's order, an unknown and a malformed id all alike", async () => {
    const { id } = (await place(ann)).body;
    const bodies = [];
    for (const path of [id, UNKNOWN_ID, 'not-an-id', '%00']) {
      const answer = await api.request(`GET /v1/orders/${path}`, { token: bob });
      const { instance: _, ...body } = expectProblem(answer, 404, 'order_not_found');
      bodies.push(body);
    }
    for (const body of bodies) expect(body).toEqual(bodies[0]);
    expect((await api.request(`GET /v1/orders/${id}`, { token: ann })).status).toBe(200);
    const shouted = await api.request(`GET /v1/orders/${id.toUpperCase()}`, { token: ann });
    expect(shouted).toMatchObject({ status: 200, body: { id } });
  });

  it("lists the caller's own orders, page by page", async () => {
    const eve = await api.token({ sub: 'eve' });
    const placed: string[] = [];
    for (let i = 0; i < 3; i++) placed.unshift((await place(eve)).body.id);
    const first = await api.request<Page>('GET /v1/orders?limit=2', { token: eve });
    const rest = await api.request<Page>(`GET /v1/orders?limit=2&cursor=${first.body.nextCursor}`, {
      token: eve,
    });
    expect([...first.body.items, ...rest.body.items].map(({ id }) => id)).toEqual(placed);
    expect(rest.body.nextCursor).toBeNull();
    const closed = await api.request<Page>('GET /v1/orders?status=closed', { token: eve });
    expect(closed.body.items).toEqual([]);
  });

  it('cancels an order once', async () => {
    const { id } = (await place(ann)).body;
    const canceled = await api.request(`POST /v1/orders/${id}/cancel`, { token: ann });
    expect(canceled).toMatchObject({
      status: 200,
      body: { status: 'closed', closeReason: 'customer_canceled' },
    });
    const receipt = await api.request(`POST /v1/orders/${id}/receipt`, { token: ann });
    expectProblem(receipt, 409, 'order_not_receivable');
    const merchant = await api.token({ sub: 'shop', scope: 'merchant' });
    const shipment = await api.request(`POST /v1/orders/${id}/shipment`, { token: merchant });
    expectProblem(shipment, 409, 'order_not_shippable');
  });

  it('lets an operator close an order, and writes down who and why', async () => {
    const { id } = (await place(ann)).body;
    const ops = await api.token({ sub: 'olivia', scope: 'ops' });
    const closed = await api.request(`POST /v1/ops/orders/${id}/force-close`, {
      token: ops,
      body: { reason: 'the customer has called' },
    });
    expect(closed).toMatchObject({
      status: 200,
      body: { status: 'closed', closeReason: 'operator_closed' },
    });
    const events = await api.rows(
      `SELECT by, actor, reason FROM order_events WHERE order_id = $1 AND to_status = 'closed'`,
      [id],
    );
    expect(events).toEqual([
      { by: 'operator', actor: 'olivia', reason: 'the customer has called' },
    ]);
    await until('nothing is overdue', async () => {
      const overview = await api.request<{ overdueDeadlines: number }>('GET /v1/ops/overview', {
        token: ops,
      });
      expect(overview.status).toBe(200);
      return overview.body.overdueDeadlines === 0;
    });
  });

  it('ships and completes an order that costs nothing', async () => {
    const free = await api.request<OrderView>('POST /v1/orders', {
      token: ann,
      headers: { 'idempotency-key': 'free' },
      body: { items: [{ sku: 'SAMPLE-FREE', quantity: 1 }] },
    });
    expect(free.body).toMatchObject({ status: 'paid', amount: 0 });
    const merchant = await api.token({ sub: 'shop', scope: 'merchant' });
    const path = `/v1/orders/${free.body.id}` as const;
    const shipped = await api.request(`POST ${path}/shipment`, { token: merchant });
    expect(shipped).toMatchObject({ status: 200, body: { status: 'shipped' } });
    const received = await api.request(`POST ${path}/receipt`, { token: ann, body: {} });
    expect(received).toMatchObject({ status: 200, body: { status: 'completed' } });
  });
});
