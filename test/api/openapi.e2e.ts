import type { OrderView } from '@app/orders';
import { RESPONSES, type ResponseName } from '../../apps/api/src/openapi/responses';
import { startTestApp, type TestApp } from '../support/app';

interface Operation {
  summary?: string;
  security?: unknown[];
  parameters?: { name: string; in: string; description?: string }[];
  requestBody?: { content: Record<string, { schema: unknown }> };
  responses: Record<string, { content?: Record<string, { schema: { $ref: string } }> }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
}

const METHODS = ['get', 'post', 'put', 'delete'];

describe('the OpenAPI document', () => {
  let api: TestApp;
  let document: Document;
  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );

  beforeAll(async () => {
    api = await startTestApp({ settings: { ROLES: 'api' } });
    document = (await api.request<Document>('GET /docs-json')).body;
  });
  afterAll(() => api?.close());

  it('has every route that is served', () => {
    const served = api.routes
      .list()
      .filter((route) => !route.startsWith('HEAD ') && !route.endsWith('/docs-json'))
      // Pages to look at, and what they load.
      .filter((route) => !/^\w+ \/(v1\/ops\/queues|assets|checkout|console|shop)\b/.test(route))
      .map((route) => route.replace(/:(\w+)/g, '{$1}'));
    const described = operations().map(({ path, method }) => `${method.toUpperCase()} ${path}`);
    expect(described.sort()).toEqual(served.sort());
  });

  it('says of every route what it is for, what it answers and how it refuses', () => {
    for (const { path, method, operation } of operations()) {
      expect(METHODS).toContain(method);
      expect(`${path} ${operation.summary}`).not.toMatch(/undefined/);
      const statuses = Object.keys(operation.responses);
      const withBody = statuses.filter((status) => operation.responses[status]?.content);
      expect(withBody.filter((status) => status < '300')).toHaveLength(1);
      if (path.startsWith('/v1/')) expect(statuses).toEqual(expect.arrayContaining(['500', '503']));
      if (operation.security?.length) {
        expect(statuses).toEqual(expect.arrayContaining(['401', '403']));
      }
      if (path.includes('{id}')) expect(statuses).toContain('404');
      for (const [status, { content }] of Object.entries(operation.responses)) {
        if (['204', '304'].includes(status)) continue;
        const [[type, { schema }] = ['none', { schema: { $ref: '' } }]] = Object.entries(
          content ?? {},
        );
        if (status >= '400') expect(type).toBe('application/problem+json');
        expect(Object.keys(document.components.schemas)).toContain(schema.$ref.split('/').at(-1));
      }
      const named = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? [];
      expect(named.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
    }
  });

  it('says of what an id in a path is', () => {
    const described = operations().flatMap(({ path, operation }) =>
      (operation.parameters ?? []).flatMap(({ name, description }) =>
        name === 'id' && path.includes('/{id}') ? [`${path}: ${description}`] : [],
      ),
    );
    const whose = { orders: 'order', refunds: 'refund', 'webhook-endpoints': 'webhook endpoint' };
    const expected = described.map((one) => {
      const [, path = '', of = ''] = /^(\S+\/(\S+)\/\{id\}\S*): /.exec(one) ?? [];
      return `${path}: The id of the ${whose[of as keyof typeof whose]}`;
    });
    expect(described).toEqual(expected);
    expect(described.some((one) => one.startsWith('/v1/ops/refunds/'))).toBe(true);
  });

  it('promises one copy of an order for as long as it knows of the first', () => {
    expect(document.paths['/v1/orders/{id}/again']?.post?.summary).toBe(
      'Place the same order again, at the prices of now; one copy, however often asked within 24 hours',
    );
  });

  it('describes what is sent with the limits that are checked', () => {
    const place = document.paths['/v1/orders']?.post as Operation;
    const body = place.requestBody?.content['application/json'] as { schema: { $ref: string } };
    const name = body.schema.$ref.split('/').at(-1) as string;
    expect(body).toMatchObject({ example: { items: [{ sku: 'TEA-SENCHA', quantity: 2 }] } });
    expect(document.components.schemas[name]).toMatchObject({
      type: 'object',
      required: ['items'],
      additionalProperties: false,
      properties: {
        items: {
          type: 'array',
          minItems: 1,
          maxItems: 50,
          items: {
            additionalProperties: false,
            properties: { quantity: { type: 'integer', minimum: 1, maximum: 999 } },
          },
        },
      },
    });
    expect(place.parameters).toContainEqual(
      expect.objectContaining({ name: 'Idempotency-Key', in: 'header', required: true }),
    );
    const list = document.paths['/v1/orders']?.get as Operation;
    expect(list.parameters?.map(({ name }) => name)).toEqual(['status', 'limit', 'cursor']);
  });

  it('describes what is really answered', async () => {
    const token = await api.token({ scope: 'orders ops' });
    const placed = await api.request<OrderView>('POST /v1/orders', {
      token,
      headers: { 'idempotency-key': 'k' },
      body: { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] },
    });
    const { id } = placed.body;
    const answers: [ResponseName, unknown][] = [
      ['Order', placed.body],
      ['Order', (await api.request(`GET /v1/orders/${id}`, { token })).body],
      ['OrderPage', (await api.request('GET /v1/orders?limit=1', { token })).body],
      ['ProductList', (await api.request('GET /v1/products')).body],
      ['Overview', (await api.request('GET /v1/ops/overview', { token })).body],
      ['Alive', (await api.request('GET /health/live')).body],
      ['Ready', (await api.request('GET /health/ready')).body],
      ['Problem', (await api.request('GET /v1/orders?limit=0', { token })).body],
    ];
    for (const [name, body] of answers) {
      const result = RESPONSES[name].safeParse(body);
      expect({ name, issues: result.error?.issues ?? [] }).toEqual({ name, issues: [] });
    }
  });
});
