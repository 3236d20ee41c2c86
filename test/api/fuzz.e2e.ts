import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { signingKey } from '../../apps/sandbox/src/webhook-signature';
import { JWT_SECRET, startTestApp, type TestApp, WEBHOOK_SECRET } from '../support/app';
import { insertOrders } from '../support/insert-orders';

/*
 * Every endpoint and the webhook against generated input: no 5xx, nothing of our insides in an
 * answer, and no change in the database. FUZZ_RUNS=5000 for the long form.
 */

const RUNS = Number(process.env.FUZZ_RUNS ?? 500);
const LIMIT_MS = 60_000 + RUNS * 100;
/** So many are sent at once: also a busy server must not leak. */
const AT_ONCE = 20;
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const OTHER_SECRET = `whsec_${randomBytes(32).toString('base64')}`;
/** What stacks, SQL and settings look like. */
const INSIDES = new RegExp(
  [
    ...['at [^ ]+ \\(', 'node_modules', '\\.(ts|js):\\d', 'SELECT ', 'INSERT ', 'syntax error'],
    ...['relation "', 'column "', 'QueryFailed', 'ECONN', 'postgres://', 'redis://'],
    ...[JWT_SECRET, WEBHOOK_SECRET],
  ].join('|'),
);

let app: TestApp;
let before: string;

beforeAll(async () => {
  app = await startTestApp({ settings: { ROLES: 'api' } });
  await insertOrders(app, { count: 1, closesInMs: 3_600_000, payment: 'open' });
  before = await digest();
});
afterAll(() => app?.close());
afterEach(async () => expect(await digest()).toBe(before));

const manyOf = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(one, { minLength: AT_ONCE, maxLength: AT_ONCE });

async function together<T>(many: readonly T[], check: (one: T) => Promise<void>): Promise<void> {
  await Promise.all(many.map(check));
}

/** Everything there is but the webhooks' inbox, as one text. */
async function digest(): Promise<string> {
  const tables = ['orders', 'order_items', 'order_events', 'payments', 'refunds', 'products'];
  const texts = ['deadlines', 'idempotency_keys', 'operator_actions', ...tables].map(
    (table) =>
      `SELECT '${table}' AS name, md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM ${table} t`,
  );
  return JSON.stringify(await app.rows(`${texts.join(' UNION ALL ')} ORDER BY name`));
}

const wild = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom(
    '',
    '\u0000',
    '%00',
    '../..',
    "'; DROP TABLE orders; --",
    '9'.repeat(400),
    '\ud800',
  ),
);
const id = fc.oneof(
  { weight: 3, arbitrary: wild.map(encodeURI_) },
  { weight: 2, arbitrary: fc.uuid() },
  { weight: 1, arbitrary: fc.constantFrom('null', '%', '%ff', '%2e%2e', '0'.repeat(200)) },
);
/** Mostly like what is asked for, and wrong somewhere. */
const body = fc.oneof(
  fc.json(),
  fc.string({ unit: 'binary', maxLength: 500 }),
  fc
    .record(
      {
        items: fc.oneof(
          fc.anything(),
          fc.array(fc.record({ sku: wild, quantity: fc.oneof(fc.double(), fc.integer(), wild) }), {
            maxLength: 60,
          }),
        ),
        reason: fc.anything(),
        seconds: fc.oneof(fc.double(), wild),
        __proto__: fc.anything(),
        status: fc.constant('paid'),
        amount: fc.constant(0),
      },
      { requiredKeys: [] },
    )
    .map(
      (value) =>
        JSON.stringify(value, (_, inner: unknown) =>
          typeof inner === 'bigint' ? String(inner) : inner,
        ) ?? '',
    ),
);

const ENDPOINTS = [
  'GET /v1/products',
  'POST /v1/orders',
  'GET /v1/orders/:id',
  'GET /v1/orders?status=:id&limit=:id&cursor=:id',
  'GET /v1/orders?:id=:id',
  ...['payments', 'cancel', 'receipt', 'shipment', 'extension'].map(
    (verb) => `POST /v1/orders/:id/${verb}`,
  ),
  'POST /v1/ops/orders/:id/force-close',
  'POST /v1/ops/orders/:id/extension',
  'GET /v1/ops/overview',
  'GET /health/ready',
  'GET /metrics',
  'PUT /v1/orders/:id',
  'DELETE /v1/orders/:id',
  'GET /:id',
] as const;

async function send(
  methodAndPath: string,
  headers: Record<string, string>,
  content: string | undefined,
) {
  const [method, path] = methodAndPath.split(' ', 2) as [string, string];
  const response = await fetch(app.baseUrl + path, {
    method,
    headers,
    ...(method !== 'GET' && content !== undefined ? { body: content } : {}),
  });
  return { status: response.status, text: await response.text() };
}

it(
  `answers ${RUNS} generated requests without a fault, a leak or a change`,
  async () => {
    const scopes = ['orders', 'merchant', 'ops', 'orders merchant ops', ''];
    const tokens = await Promise.all(scopes.map((scope) => app.token({ sub: 'mallory', scope })));
    const header = fc
      .string({ minLength: 1, maxLength: 300 })
      .map((text) => text.replace(/[^\x20-\x7e]|^ +| +$/g, '') || 'x');
    const requests = fc.record({
      endpoint: fc.constantFrom(...ENDPOINTS),
      id,
      body: fc.option(body, { nil: undefined }),
      type: fc.constantFrom(
        'application/json',
        'application/json',
        'text/plain',
        'application/xml',
        '',
      ),
      authorization: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom(...tokens).map((token) => `Bearer ${token}`) },
        { weight: 1, arbitrary: header },
      ),
      key: fc.option(header, { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(manyOf(requests), (many) =>
        together(many, async (request) => {
          const headers = {
            authorization: request.authorization,
            ...(request.type && { 'content-type': request.type }),
            ...(request.key && { 'idempotency-key': request.key, 'last-event-id': request.key }),
          };
          const path = request.endpoint.replaceAll(':id', request.id);
          const { status, text } = await send(path, headers, request.body);
          expect(status).toBeLessThan(500);
          if (status >= 400) {
            expect(text).not.toMatch(INSIDES);
            expect(JSON.parse(text)).toMatchObject({ status, code: expect.any(String) });
          }
        }),
      ),
      { numRuns: RUNS / AT_ONCE, seed: SEED },
    );
  },
  LIMIT_MS,
);

it(
  `takes ${RUNS} generated webhooks, forged and signed, without a fault or an effect`,
  async () => {
    const field = fc.oneof(
      wild,
      fc.integer(),
      fc.double(),
      fc.constant(null),
      fc.date({ noInvalidDate: false }).map(String),
    );
    const notice = fc.record(
      {
        type: fc.oneof(
          fc.constantFrom(
            'payment.succeeded',
            'payment.failed',
            'payment.closed',
            'refund.succeeded',
            'refund.failed',
          ),
          wild,
        ),
        data: fc.record(
          {
            providerPaymentId: wild,
            reference: fc.oneof(wild, fc.uuid()),
            amount: fc.oneof(fc.nat(), fc.maxSafeInteger(), field),
            currency: fc.oneof(
              fc.constantFrom('EUR', 'eur', '\u0000\u0000\u0000', '\ud800ab'),
              field,
            ),
            paidAt: fc.oneof(
              fc.constantFrom(
                '2026-01-01T00:00:00Z',
                '0000-01-01T00:00:00Z',
                '9999-12-31T23:59:59+14:00',
              ),
              field,
            ),
            refundId: field,
            idempotencyKey: fc.oneof(field, fc.uuid()),
            failureReason: field,
          },
          { requiredKeys: ['providerPaymentId', 'reference', 'amount', 'currency'] },
        ),
      },
      { requiredKeys: ['type', 'data'] },
    );
    const content = fc.oneof(
      { weight: 3, arbitrary: notice.map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: fc.json() },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
    );
    const webhooks = fc.record({
      content,
      isGenuine: fc.boolean(),
      ageS: fc.constantFrom(0, 0, 0, 400, -400),
    });
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(manyOf(webhooks), (many) =>
        together(many, async ({ content: raw, isGenuine, ageS }) => {
          const eventId = randomUUID();
          const timestamp = String(Math.floor(Date.now() / 1_000) - ageS);
          const key = signingKey(isGenuine ? WEBHOOK_SECRET : OTHER_SECRET);
          const signed = createHmac('sha256', key).update(`${eventId}.${timestamp}.`).update(raw);
          const headers = {
            'content-type': 'application/json',
            'webhook-id': eventId,
            'webhook-timestamp': timestamp,
            'webhook-signature': `v1,${signed.digest('base64')}`,
          };
          const { status, text } = await send('POST /v1/webhooks/sandbox', headers, raw);
          expect([200, 400]).toContain(status);
          if (!isGenuine || ageS !== 0) expect(status).toBe(400);
          if (status === 400) expect(text).not.toMatch(INSIDES);
          const stored = await app.rows('SELECT 1 FROM webhook_events WHERE event_id = $1', [
            eventId,
          ]);
          expect(stored).toHaveLength(status === 200 ? 1 : 0);
          if (status === 200) taken++;
        }),
      ),
      { numRuns: RUNS / AT_ONCE, seed: SEED },
    );
    // It goes deeper than refusals.
    expect(taken).toBeGreaterThan(0);
  },
  LIMIT_MS,
);

/** As a client would send it: what cannot be in an address is escaped, lone surrogates are dropped. */
function encodeURI_(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '')) || '-';
}
