import {
  Deliveries,
  DismissWebhook,
  OrderGuard,
  ReleaseDeadlines,
  ReplayWebhook,
  FinishRefund,
  RetryRefund,
  SettlePayment,
  WebhookEndpoints,
} from '@app/orders';
import { ForeignMoney } from '../money/foreign-money';
import { openWorld, type World } from '../../../../test/support/world';

const RUN = { actor: 'ann', reason: 'a test' };

let world: World;
beforeAll(async () => {
  world = await openWorld();
}, 60_000);
afterAll(() => world?.close());

const parts = () => [world.dataSource, world.timeouts] as const;

const CALLS: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
  refund_not_found: (id) => new RetryRefund(...parts()).retry(id, RUN),
  'refund_not_found, finished': (id) => world.get(FinishRefund).finish(id, RUN),
  payment_not_found: (id) =>
    new SettlePayment(...parts(), world.get(OrderGuard), world.get(ForeignMoney)).settle(
      ...([id, 'refund', RUN] as const),
    ),
  'webhook_not_found, dismissed': (id) => new DismissWebhook(world.dataSource).dismiss(id, RUN),
  'webhook_not_found, replayed': (id) => new ReplayWebhook(...parts()).replay(id, RUN),
  'webhook_endpoint_not_found, read': (id) => world.get(WebhookEndpoints).read(id),
  'webhook_endpoint_not_found, deleted': (id) => world.get(WebhookEndpoints).delete(id, RUN),
  'webhook_endpoint_not_found, rotated': (id) => world.get(WebhookEndpoints).rotate(id, 0, RUN),
  'webhook_endpoint_not_found, on': (id) => world.get(WebhookEndpoints).switchOn(id, RUN),
  'webhook_endpoint_not_found, tested': (id) => world.get(WebhookEndpoints).test(id),
  'webhook_endpoint_not_found, listed': (endpointId) =>
    world.get(Deliveries).list({ endpointId, limit: 1 }),
  'webhook_endpoint_not_found, redelivered': (id) =>
    world.get(Deliveries).redeliver(id, undefined, RUN),
};

describe.each([
  ['of nobody', '01990000-0000-7000-8000-000000000000'],
  ['that is none', 'ORDER-1'],
  ['of another type', 42 as unknown as string],
  ['that is missing', undefined as unknown as string],
])('an id %s', (_what, id) => {
  it.each(Object.entries(CALLS))('is answered with %s', async (name, call) => {
    const [code] = name.split(',');
    await expect(call(id)).rejects.toMatchObject({ code });
  });

  it('is held by nobody', async () => {
    const released = new ReleaseDeadlines(...parts()).release({ subjectIds: [id] }, RUN);
    expect(await released).toEqual([]);
  });
});

it('deliveries that there cannot be are named', async () => {
  const wanted = { url: 'https://shop.test/hook', events: ['*'] };
  const { endpoint } = await world.get(WebhookEndpoints).create(wanted, RUN);
  const again = world.get(Deliveries).redeliver(endpoint.id, ['7'], RUN);
  await expect(again).rejects.toMatchObject({
    code: 'webhook_delivery_not_found',
    fields: { deliveries: ['7'] },
  });
});
