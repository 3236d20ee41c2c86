import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../../../test/support/app';
import { insertBusyYear } from '../../../../test/support/insert-busy-year';
import { dataSourceOptions } from '../data-source';
import { DigestHistory } from '../events/digest-history';

const ORDERS = 1_000_000;
const RUNS = 5;
/** Of one statement. */
const WORTH_TELLING_MS = 50;
/** What one scan may read, of whatever table. */
const MOST_READ = 60_000;

let api: TestApp;
let client: Client;
let token: string;
let orderId: string;
beforeAll(async () => {
  api = await startTestApp({ settings: { ROLES: 'api' } });
  token = await api.token({ sub: 'olga', scope: 'ops' });
  // Planned as the application's own are.
  const { extra } = dataSourceOptions({
    ...{ url: api.config.DATABASE_URL, name: '', connections: 1, isLimited: false },
  });
  const { options } = extra as { options: string };
  client = new Client({ connectionString: api.ownerUrl, options });
  await client.connect();
  ({ orderId } = await insertBusyYear(client, ORDERS));
  const digest = api.app.get(DigestHistory, { strict: false });
  while ((await digest.runOnce()).windows > 0);
  await client.query('ANALYZE close_lags, operator_events');
}, 300_000);
afterAll(async () => {
  await client?.end();
  await api?.close();
});

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Plan[];
}

interface Explained {
  readonly Plan: Plan;
  readonly 'Execution Time': number;
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const readBy = (plan: Plan): number =>
  (plan['Actual Rows'] +
    (plan['Rows Removed by Filter'] ?? 0) +
    (plan['Rows Removed by Index Recheck'] ?? 0)) *
  plan['Actual Loops'];

/** Every scan that reads more of a table than it may, in the statements that `look` runs. */
async function greedyScans(look: () => Promise<unknown>): Promise<string[]> {
  const asked: { text: string; values: unknown[] }[] = [];
  const query = jest.spyOn(Client.prototype, 'query') as unknown as jest.SpyInstance<
    unknown,
    [never]
  >;
  await look();
  for (const [one] of query.mock.calls) {
    const { text, values } = one as { text?: string; values?: unknown[] };
    if (text !== undefined) asked.push({ text, values: values ?? [] });
  }
  query.mockRestore();
  expect(asked.length).toBeGreaterThan(0);
  const greedy: string[] = [];
  for (const { text, values } of asked) {
    const { rows } = await client.query<{ 'QUERY PLAN': [Explained] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
      values,
    );
    const { Plan: plan, 'Execution Time': tookMs } = (rows[0] as (typeof rows)[0])['QUERY PLAN'][0];
    if (tookMs > WORTH_TELLING_MS) process.stdout.write(`${Math.round(tookMs)} ms: ${text}\n`);
    for (const node of nodesOf(plan)) {
      const { 'Node Type': type, 'Relation Name': table } = node;
      if (table === undefined || readBy(node) <= MOST_READ) continue;
      greedy.push(`${type} of ${table}: ${readBy(node)} rows\n${text}`);
    }
  }
  return greedy;
}

/** The fastest of a few, in milliseconds: what the queries take, whatever else the machine does. */
async function fastestMs(look: () => Promise<unknown>): Promise<number> {
  let fastest = Infinity;
  for (let run = 0; run < RUNS; run += 1) {
    const startedAt = performance.now();
    await look();
    fastest = Math.min(fastest, performance.now() - startedAt);
  }
  return Math.round(fastest);
}

const ago = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();
const VIEWS = [
  '/console/api/now',
  '/console/api/work',
  '/console/api/audit',
  '/v1/ops/orders/ONE',
  '/v1/ops/overview',
  ...[
    ...['', 'status=pending_payment', 'status=closing', 'status=canceled', 'customer=customer-7'],
    ...['sku=NOTHING', 'amount=5000..', 'id=019', `since=${ago(1)}`, `until=${ago(24)}`],
    ...['overdue=true', 'overdue=true&customer=customer-7&sku=NOTHING'],
  ].map((filter) => `/v1/ops/orders?limit=50&${filter}`),
];

it.each(VIEWS)(
  'answers GET %s beside a million orders, and reads little for it',
  async (path) => {
    const look = async (): Promise<void> => {
      const { status, body } = await api.request(`GET ${path.replace('ONE', orderId) as '/'}`, {
        token,
      });
      expect({ status, body: status === 200 ? {} : body }).toEqual({ status: 200, body: {} });
    };
    expect(await greedyScans(look)).toEqual([]);
    // What it takes depends on who else is at work here; what it reads does not.
    process.stdout.write(`${path}: ${await fastestMs(look)} ms\n`);
  },
  30_000,
);
