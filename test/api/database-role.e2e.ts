import { randomUUID } from 'node:crypto';
import { onDataSource, runInvariants } from '@app/orders';
import { TimeoutService } from '@app/timeout';
import { startTestApp, type TestApp } from '../support/app';
import { insertOrders, insertProduct, TEST_SKU } from '../support/insert-orders';
import { LedgerProvider } from '../support/ledger-provider';
import { until } from '../support/until';
import { SealHistory } from '../../libs/orders/src/events/seal-history';
import { verifyHistory } from '../../libs/orders/src/events/verify-history';
import { PaymentProviders } from '@app/orders';

/*
 * The application as the restricted role, as in all tests (test/support/database.ts): nothing it does
 * needs more, and it cannot rewrite history.
 */

const provider = new LedgerProvider();
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({
    settings: { SHIP_WITHIN: '30d' },
    override: (module) =>
      module.overrideProvider(PaymentProviders).useValue(new PaymentProviders([provider])),
  });
  await insertProduct(app);
});

afterAll(async () => {
  await app?.close();
});

const asApplication = (sql: string): Promise<unknown[]> => app.dataSource.query(sql);

async function place(): Promise<string> {
  const { status, body } = await app.request<{ id: string }>('POST /v1/orders', {
    token: await app.token(),
    body: { items: [{ sku: TEST_SKU, quantity: 1 }] },
    headers: { 'idempotency-key': randomUUID() },
  });
  expect(status).toBe(201);
  return body.id;
}

async function pay(orderId: string, late = false): Promise<void> {
  const token = await app.token();
  const [known] = await app.rows<{ id: string }>('SELECT id FROM payments WHERE order_id = $1', [
    orderId,
  ]);
  const opened =
    known ??
    (await app.request<{ id: string }>(`POST /v1/orders/${orderId}/payments`, { token })).body;
  const posted = provider.pay(opened.id, new Date(), { late });
  expect(posted).toBeDefined();
  const answer = await app.request('POST /v1/webhooks/sandbox', {
    body: posted?.body.toString(),
    headers: posted?.headers ?? {},
  });
  expect(answer.status).toBe(200);
}

const statusOf = async (orderId: string): Promise<string> =>
  (await app.rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [orderId]))[0]
    ?.status ?? '';

it('does everything it has to as the restricted role', async () => {
  const [token, merchant, ops] = await Promise.all([
    app.token(),
    app.token({ scope: 'merchant' }),
    app.token({ scope: 'ops' }),
  ]);
  const [paid, canceled, forced, waiting] = [
    await place(),
    await place(),
    await place(),
    await place(),
  ];
  await pay(paid);
  expect((await app.request(`POST /v1/orders/${paid}/shipment`, { token: merchant })).status).toBe(
    200,
  );
  expect((await app.request(`POST /v1/orders/${paid}/receipt`, { token })).status).toBe(200);
  expect((await app.request(`POST /v1/orders/${canceled}/cancel`, { token })).status).toBe(200);
  const body = { reason: 'fraud check failed' };
  const force = await app.request(`POST /v1/ops/orders/${forced}/force-close`, {
    token: ops,
    body,
  });
  expect(force.status).toBe(200);
  expect((await app.request('GET /v1/ops/overview', { token: ops })).status).toBe(200);
  expect((await app.request('GET /metrics', { token: ops })).status).toBe(200);

  const overdue = await insertOrders(app, { count: 20, closesInMs: -1_000, payment: 'failed' });
  await app.app.get(TimeoutService).runSweep();
  const late = overdue[0]?.id ?? '';
  // By us, or by the worker's own sweep, which may have been at it.
  await until('it is closed', async () => (await statusOf(late)) === 'closed');
  provider.open({ paymentId: overdue[0]?.paymentId ?? '', amount: 500, currency: 'EUR' });
  await pay(late, true);
  await until('the late payment is refunded', async () => {
    const rows = await app.rows<{ status: string }>('SELECT status FROM refunds');
    return rows.length === 1 && rows[0]?.status === 'succeeded';
  });
  expect([
    await statusOf(paid),
    await statusOf(canceled),
    await statusOf(forced),
    await statusOf(waiting),
  ]).toEqual(['completed', 'closed', 'closed', 'pending_payment']);
  const broken = await runInvariants(app, { limitMs: 60_000, newest: 'all' });
  expect(broken.filter(({ violations }) => violations > 0)).toEqual([]);
});

it('seals the history, and finds it as it was sealed', async () => {
  await until('the transactions before are over', async () => {
    await app.app.get(SealHistory).runOnce();
    return (await app.rows('SELECT 1 FROM history_seals')).length > 0;
  });
  const { breaks, rows } = await verifyHistory(onDataSource(app.dataSource), null, 'all');
  expect(breaks).toEqual([]);
  expect(rows).toBeGreaterThan(0);
});

it('connects as one who owns nothing and is no superuser', async () => {
  const [who] = (await asApplication(
    `SELECT rolsuper, pg_has_role(rolname, 'lastcall_app', 'member') AS restricted,
            (SELECT count(*)::int FROM pg_class c WHERE c.relowner = r.oid) AS owned
       FROM pg_roles r WHERE rolname = current_user`,
  )) as object[];
  expect(who).toEqual({ rolsuper: false, restricted: true, owned: 0 });
});

it('lets nobody but the application delete with the rights of the owner', async () => {
  const [functions] = await app.rows<{ open: string[] | null }>(
    `SELECT array_agg(p.proname::text) AS open FROM pg_proc p
      WHERE pronamespace = current_schema()::regnamespace AND prosecdef
        AND has_function_privilege('public', p.oid, 'EXECUTE')`,
  );
  expect(functions?.open).toBeNull();
  await expect(asApplication('SELECT forget_settled_webhooks(1)')).resolves.toHaveLength(1);
});

it.each([
  'UPDATE order_events SET actor = NULL',
  'DELETE FROM order_events',
  'TRUNCATE order_events',
  'UPDATE stock_movements SET quantity = 1',
  'DELETE FROM stock_movements',
  'UPDATE unfolded_stock_movements SET quantity = 1',
  'DELETE FROM operator_actions',
  'UPDATE history_seals SET rows = 0',
  'DELETE FROM history_seals',
  'DELETE FROM history_salts',
  'UPDATE installation SET signing_key = sha256(NULL)',
  'DELETE FROM orders',
  'DELETE FROM payments',
  'DROP TABLE refunds',
  'ALTER TABLE order_events DISABLE TRIGGER ALL',
  'DELETE FROM lastcall_migrations',
])('is refused by Postgres: %s', async (sql) => {
  const before = await app.rows('SELECT count(*) FROM order_events');
  await expect(asApplication(sql)).rejects.toThrow(/permission denied|must be owner/);
  expect(await app.rows('SELECT count(*) FROM order_events')).toEqual(before);
});
