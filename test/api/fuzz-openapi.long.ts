import { PaymentProviders } from '@app/orders';
import fc, { type Arbitrary } from 'fast-check';
import { startTestApp, type TestApp } from '../support/app';
import { fromSchema, HOSTILE, type Schema } from '../support/from-schema';
import { insertOrders, insertProduct, TEST_SKU } from '../support/insert-orders';
import { LedgerProvider } from '../support/ledger-provider';

/*
 * Requests made from the document that the running API serves, as it describes them and as nobody
 * means them: whatever is asked is answered, and never with a fault of ours. FUZZ_SEED=n plays a run
 * again, FUZZ_REQUESTS=n plays another number of them.
 */

const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 5_000);
const AT_ONCE = 20;

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly schema?: Schema;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema?: Schema }>>;
  };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly caller: number;
  /** Which of its lane's orders an `id` stands for; none where it is made up. */
  readonly known: number | null;
}

const CALLERS = ['orders', 'merchant', 'ops', 'orders merchant ops metrics', 'metrics', 'nothing'];

let api: TestApp;
beforeAll(async () => {
  const provider = new LedgerProvider();
  api = await startTestApp({
    settings: {
      ROLES: 'api',
      CANCEL_PAID: 'until_shipped',
      CUSTOMER_EXTENSION: '2m',
      MAX_OPEN_ORDERS: '200',
    },
    override: (module) =>
      module.overrideProvider(PaymentProviders).useValue(new PaymentProviders([provider])),
  });
  await insertProduct(api);
});
afterAll(() => api?.close());

function requestsOf(document: Document): Arbitrary<Request> {
  const find = (ref: string): Schema =>
    document.components.schemas?.[ref.split('/').at(-1) ?? ''] ?? {};
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return fc.oneof(
    ...operations.map(({ path, method, operation }) => {
      const { parameters = [], requestBody } = operation;
      const given = (place: Parameter['in']) => {
        const wanted = parameters.filter((one) => one.in === place);
        const values = wanted.map(({ name, schema = {} }) => [name, fromSchema(schema, find)]);
        const requiredKeys = wanted.filter(({ required }) => required).map(({ name }) => name);
        return fc.record(Object.fromEntries(values) as Record<string, Arbitrary<unknown>>, {
          requiredKeys: place === 'path' ? wanted.map(({ name }) => name) : requiredKeys,
        });
      };
      const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
      const body = schema ? fromSchema(schema, find) : fc.option(HOSTILE, { freq: 9 });
      return fc.record({
        ...{ method: fc.constant(method.toUpperCase()), path: fc.constant(path) },
        ...{ params: given('path'), query: given('query'), headers: given('header'), body },
        caller: fc.nat({ max: CALLERS.length - 1 }),
        known: fc.option(fc.nat(), { freq: 5 }),
      });
    }),
  );
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
/** As an address may have it: halves of characters have no encoding. */
const inAddress = (value: unknown): string =>
  encodeURIComponent(Buffer.from(asText(value)).toString());

/** What one client has of its own. */
interface Lane {
  readonly orderIds: string[];
  readonly sku: string;
}

async function send(request: Request, tokens: readonly string[], { orderIds, sku }: Lane) {
  const { method, params, query, known } = request;
  const isPlacing = method === 'POST' && request.path === '/v1/orders';
  // Made up as nearly all products are, no order would be placed, and none looked at.
  const body =
    isPlacing && known !== null ? { items: [{ sku, quantity: 1 + (known % 5) }] } : request.body;
  const orderId = known === null ? undefined : orderIds[known % Math.max(1, orderIds.length)];
  const path = request.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    inAddress(name === 'id' && orderId ? orderId : params[name]),
  );
  const search = Object.entries(query).map(([name, value]) => `${name}=${inAddress(value)}`);
  // What a client cannot put into a header at all says nothing about the server.
  const headers = Object.entries(request.headers)
    .map(([name, value]) => [name, asText(value)] as const)
    .filter(([, value]) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value));
  const hasBody = body !== null && body !== undefined && method !== 'GET';
  const leave = new AbortController();
  const answer = await fetch(
    `${api.baseUrl}${path}${search.length > 0 ? '?' : ''}${search.join('&')}`,
    {
      method,
      signal: leave.signal,
      headers: {
        ...(tokens[request.caller] ? { authorization: `Bearer ${tokens[request.caller]}` } : {}),
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
        ...Object.fromEntries(headers),
      },
      ...(hasBody ? { body: JSON.stringify(body) } : {}),
    },
  );
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
  const text = isStream ? '' : await answer.text();
  leave.abort();
  if (answer.status === 201 && isPlacing) {
    orderIds.push((JSON.parse(text) as { id: string }).id);
  }
  return { status: answer.status, text };
}

/** Busy with a product that is in the description, as an example: all lanes ask for that one. */
function isOfAll(text: string, own: string): boolean {
  const { code, skus = [] } = JSON.parse(text) as { code?: string; skus?: readonly string[] };
  return code === 'busy' && skus.length > 0 && !skus.includes(own);
}

it(`answers ${REQUESTS} requests made from its own description without a fault`, async () => {
  const document = (await api.request<Document>('GET /docs-json')).body;
  const requests = fc.sample(requestsOf(document), { seed: SEED, numRuns: REQUESTS });
  const tokens = await Promise.all(CALLERS.map((scope) => api.token({ scope })));
  tokens[CALLERS.length - 1] = '';
  const customerId = 'ann';
  const placed = await insertOrders(api, { count: AT_ONCE, closesInMs: 600_000, customerId });
  const statuses = new Map<number, number>();
  const faults: unknown[] = [];
  const asked = new Set<string>();
  let next = 0;
  let orders = 0;
  // Each lane has orders and a product of its own: two at once at one of them are told that it is busy,
  // rightly, and then 503 would say nothing. So every one of them is a fault, but for one of what all have.
  const lane = async ({ id }: { readonly id: string }, n: number): Promise<void> => {
    const [orderIds, sku] = [[id], `${TEST_SKU}-${n}`];
    await insertProduct(api, sku);
    for (let request = requests[next++]; request; request = requests[next++]) {
      const { status, text } = await send(request, tokens, { orderIds, sku });
      asked.add(`${request.method} ${request.path}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status >= 500 && !isOfAll(text, sku)) faults.push({ request, status, text });
    }
    orders += orderIds.length - 1;
  };
  await Promise.all(placed.map(lane));
  const counts = Object.fromEntries([...statuses].sort());
  console.log(`FUZZ_SEED=${SEED}: ${asked.size} operations, ${orders} orders`, counts);
  expect(faults).toEqual([]);
  const described = Object.values(document.paths).flatMap((methods) => Object.keys(methods));
  expect(asked.size).toBe(described.length);
  // It goes deeper than refusals.
  expect(counts['200']).toBeGreaterThan(REQUESTS / 50);
  expect(orders).toBeGreaterThan(5);
}, 300_000);
