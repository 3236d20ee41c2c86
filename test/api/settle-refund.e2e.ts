import { randomUUID } from 'node:crypto';
import type { OrderView } from '@app/orders';
import { startTestApp, type TestApp } from '../support/app';
import { expectProblem } from '../support/problem';

const reason = 'bank transfer 4711';
const TAKEN = 600;

let api: TestApp;
let token: string;
beforeAll(async () => {
  api = await startTestApp({ settings: { ROLES: 'api' } });
  token = await api.token({ scope: 'orders ops' });
});
afterAll(() => api?.close());

const post = <Body = OrderView>(path: string, body?: object) =>
  api.request<Body>(`POST /v1/${path}`, {
    ...{ token, body, headers: { 'idempotency-key': randomUUID() } },
  });
const refundsOf = (orderId: string) =>
  api.rows<{ id: string; status: string; amount: number }>(
    `SELECT r.id, r.status, r.amount::float8 AS amount
       FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE p.order_id = $1 ORDER BY r.id`,
    [orderId],
  );

/** A canceled order whose refund waits to be sent, and of whose money the dashboard has sent back a part. */
async function partlyBack(): Promise<{ orderId: string; refundId: string; owed: number }> {
  const items = [{ sku: 'TEA-SENCHA', quantity: 2 }];
  const { id: orderId, amount } = (await post('orders', { items })).body;
  // Nobody is at SANDBOX_URL: an operator says that it was paid.
  expectProblem(await post(`orders/${orderId}/payments`), 502, 'provider_error');
  expect((await post(`orders/${orderId}/cancel`)).body.status).toBe('closing');
  expect((await post(`ops/orders/${orderId}/settle`, { as: 'paid', reason })).status).toBe(200);
  expect((await post(`ops/orders/${orderId}/cancel`, { reason })).body.status).toBe('canceled');
  await api.rows(
    `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
     SELECT order_id, id, 'foreign_refund', 're-' || id, $2, currency, 'webhook'
       FROM payments WHERE order_id = $1`,
    [orderId, TAKEN],
  );
  const [refund] = await refundsOf(orderId);
  return { orderId, refundId: refund?.id as string, owed: amount - TAKEN };
}

describe('a refund of which others have taken a part, over HTTP', () => {
  it('is over by the amount that was sent, once, and that is a refund of its own', async () => {
    const { orderId, refundId, owed } = await partlyBack();
    const settle = () =>
      post(`ops/refunds/${refundId}/settle`, { as: 'done', amount: owed, reason });
    const settled = await settle();
    expect(settled).toMatchObject({
      ...{ status: 200, body: { id: orderId, balance: { refunded: owed + TAKEN } } },
    });
    expect(await refundsOf(orderId)).toMatchObject([
      { id: refundId, status: 'canceled', amount: owed + TAKEN },
      { status: 'succeeded', amount: owed },
    ]);
    expectProblem(await settle(), 409, 'refund_not_settleable');
  });

  it('is over by that also where an operator says it in the console, and of one refund alone', async () => {
    const { orderId, refundId, owed } = await partlyBack();
    const act = (body: object) =>
      post<{ results: { isDone: boolean; says: string }[] }>('../console/api/actions', {
        ...{ action: 'finish_refund', ids: [refundId], reason, ...body },
      });
    for (const body of [
      ...[
        { amount: 0 },
        { amount: 0.5 },
        { amount: null },
        { amount: owed, action: 'retry_refund' },
      ],
      { amount: owed, ids: [refundId, randomUUID()], count: 2 },
    ]) {
      expectProblem(await act(body), 400, 'invalid_request');
    }
    expect((await act({})).body.results).toMatchObject([{ isDone: false }]);
    expect((await act({ amount: owed })).body.results).toMatchObject([{ isDone: true }]);
    expect(await refundsOf(orderId)).toMatchObject([
      { status: 'canceled' },
      { status: 'succeeded', amount: owed },
    ]);
  });

  it('is left as it is by an amount that is none, or another one than is owed', async () => {
    const { orderId, refundId, owed } = await partlyBack();
    const before = await refundsOf(orderId);
    const settle = (body: object) =>
      post<{ owed?: number }>(`ops/refunds/${refundId}/settle`, { as: 'done', reason, ...body });
    const none = [0, -1, -owed, 0.5, owed + 0.5, 1e21, String(owed), '', 'EUR', true, [owed], null];
    for (const amount of none) {
      expectProblem(await settle({ amount }), 400, 'invalid_request');
    }
    expectProblem(await settle({ amount: owed, currency: 'USD' }), 400, 'invalid_request');
    for (const body of [{}, { amount: owed + 1 }, { amount: owed - 1 }, { amount: owed + TAKEN }]) {
      const refused = await settle(body);
      expectProblem(refused, 409, 'refund_not_settleable');
      expect(refused.body).toMatchObject({ owed });
    }
    expect(await refundsOf(orderId)).toEqual(before);
  });
});
