import { randomUUID } from 'node:crypto';
import {
  type Delivery,
  DeliverWebhooks,
  FanOutEvents,
  type Page,
  type Queryable,
  type WithSecret,
} from '@app/orders';
import { Webhook } from 'standardwebhooks';
import { RESPONSES } from '../../apps/api/src/openapi/responses';
import { startTestApp, type TestApp } from '../support/app';
import { insertOrders } from '../support/insert-orders';
import { expectProblem } from '../support/problem';
import {
  type Heard,
  startWebhookListener,
  type WebhookListener,
} from '../support/webhook-listener';
import { fanOutAll } from '../support/fan-out-all';

describe("a merchant's view of webhook endpoints", () => {
  let api: TestApp;
  let merchant: string;

  beforeAll(async () => {
    api = await startTestApp({ settings: { ROLES: 'api', WEBHOOKS_ALLOW_PRIVATE: 'on' } });
    merchant = await api.token({ sub: 'mia', scope: 'merchant' });
  });
  afterAll(() => api?.close());

  const sql: Queryable = { rows: (text, params) => api.rows(text, params) };

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
