import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FOLDER } from '../answers/record-answers';
import { type AnswersDocument, documentedAnswers } from '../answers/compare-answers';
import { signedHeaders, signingKey } from '../../apps/sandbox/src/webhook-signature';
import { startTestApp, type TestApp, WEBHOOK_SECRET } from '../support/app';
import { expectProblem } from '../support/problem';

/*
 * The refusals that many routes have in common, each at every route whose documentation says so.
 * Those of one route alone are tested where they belong; test/answers counts all of them.
 */

const SCOPES = 'orders merchant ops metrics';
const KB = 1_024;

type Route = `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`;
let api: TestApp;
let document: AnswersDocument & {
  readonly components: {
    readonly schemas: Readonly<
      Record<
        string,
        {
          readonly required?: readonly string[];
          readonly properties?: Readonly<
            Record<string, { readonly examples?: unknown[]; readonly enum?: unknown[] }>
          >;
        }
      >
    >;
  };
};

beforeAll(async () => {
  api = await startTestApp({ settings: { ROLES: 'api' } });
  document = (await api.request<typeof document>('GET /docs-json')).body;
  const folder = process.env[FOLDER];
  if (folder) writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
});
afterAll(() => api?.close());

/** The routes that say they answer so, with ids and names in the place of their parameters. */
function routesWith(status: number, code: string): Route[] {
  return documentedAnswers(document)
    .filter((line) => line.endsWith(` ${status} ${code}`))
    .map((line) => {
      const [method, path = ''] = line.split(' ');
      const concrete = path
        .replace('{provider}', 'sandbox')
        .replace('{sku}', 'TEA-SENCHA')
        .replace(/\{\w+\}/g, '0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e');
      return `${method} ${concrete}` as Route;
    });
}

const headers = { 'idempotency-key': 'documented' };

it.each([
  [413, 'body_too_large', { body: 'x'.repeat(257 * KB) }],
  [415, 'unsupported_media_type', { body: 'x', headers: { ...headers, 'content-type': 'text/x' } }],
  [415, 'unsupported_media_type', { body: 'x', headers: { ...headers, 'content-encoding': 'br' } }],
] as const)('answers %d %s wherever a body is taken', async (status, code, request) => {
  const token = await api.token({ scope: SCOPES });
  const isOfAType = 'headers' in request && 'content-type' in request.headers;
  const routes = routesWith(status, code).filter(
    // Webhooks are bytes, whatever their sender calls them.
    (route) => !isOfAType || !route.startsWith('POST /v1/webhooks'),
  );
  if (!isOfAType) expect(routes).toContain('POST /v1/webhooks/sandbox');
  expect(routes.length).toBeGreaterThan(5);
  for (const route of routes) {
    expectProblem(await api.request(route, { token, ...request }), status, code);
  }
});

it('answers 400 invalid_request wherever something is read from the request', async () => {
  const token = await api.token({ scope: SCOPES });
  const routes = routesWith(400, 'invalid_request');
  expect(routes.length).toBeGreaterThan(10);
  for (const known of routes) {
    const route = known.replace('TEA-SENCHA', '!') as Route;
    const isRead = route.startsWith('GET');
    const answer = await api.request(`${route}${isRead ? '?nonsense=1' : ''}`, {
      token,
      ...(isRead ? {} : { body: '{' }),
      headers: { ...headers, 'last-event-id': 'x' },
    });
    expect([route, answer.status]).toEqual([route, 400]);
  }
});

it.each([
  [500, 'internal_error', new Error('hunter2')],
  [503, 'unavailable', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })],
  [503, 'busy', Object.assign(new Error('lock timeout'), { code: '55P03' })],
] as const)('answers %d %s when the database does so', async (status, code, error) => {
  const token = await api.token({ scope: SCOPES });
  const routes = routesWith(status, code);
  expect(routes.length).toBeGreaterThan(10);
  const broken = jest.spyOn(api.dataSource, 'createQueryRunner').mockImplementation(() => {
    throw error;
  });
  try {
    for (const route of routes) {
      const request = route.startsWith('POST /v1/webhooks') ? webhook() : bodyOf(route);
      const answer = await api.request(route, { token, headers, ...request });
      expect([route, answer.status]).toEqual([route, status]);
    }
  } finally {
    broken.mockRestore();
  }
});

/** A genuine one, of a payment that is nobody's. */
function webhook(): { body: string; headers: Readonly<Record<string, string>> } {
  const data = { providerPaymentId: 'pay_1', reference: randomUUID(), amount: 1, currency: 'EUR' };
  const body = JSON.stringify({ type: 'payment.failed', data });
  const signed = signedHeaders(signingKey(WEBHOOK_SECRET), randomUUID(), body, Date.now());
  return { body, headers: signed };
}

/** A sound body, as the document describes it: its example, or one made of each field's. */
function bodyOf(route: Route): { body?: object } {
  const [method = '', concrete = ''] = route.split(' ');
  const pattern = (path: string) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
  const [, item] =
    Object.entries(document.paths).find(([path]) => pattern(path).test(concrete)) ?? [];
  const { requestBody } = (item?.[method.toLowerCase()] ?? {}) as {
    requestBody?: { content: Record<string, { example?: object; schema: { $ref: string } }> };
  };
  const media = requestBody?.content['application/json'];
  if (!media) return {};
  const name = media.schema.$ref.split('/').at(-1) as string;
  const { properties = {}, required = [] } = document.components.schemas[name] ?? {};
  const value = (field: string) => properties[field]?.examples?.[0] ?? properties[field]?.enum?.[0];
  const made = Object.fromEntries(required.map((field) => [field, value(field)]));
  return { body: media.example ?? made };
}

it.each([
  [404, 'order_not_found'],
  [404, 'product_not_found'],
] as const)('answers %d %s for what there is not', async (status, code) => {
  const token = await api.token({ scope: SCOPES });
  const routes = routesWith(status, code);
  expect(routes.length).toBeGreaterThan(0);
  for (const known of routes) {
    const route = known.replace('TEA-SENCHA', 'TEA-NOBODY') as Route;
    expectProblem(await api.request(route, { token, headers, ...bodyOf(route) }), status, code);
  }
});

it('answers 429 rate_limited wherever requests are counted', async () => {
  const limited = await startTestApp({
    beside: api,
    settings: { ROLES: 'api', RATE_LIMIT: '1/h' },
  });
  try {
    const token = await limited.token({ scope: SCOPES });
    await limited.request('GET /v1/orders', { token });
    const routes = routesWith(429, 'rate_limited');
    expect(routes.length).toBeGreaterThan(10);
    for (const route of routes) {
      expectProblem(await limited.request(route, { token }), 429, 'rate_limited');
    }
  } finally {
    await limited.close();
  }
});
