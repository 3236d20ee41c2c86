import { Deliveries } from '../../libs/orders/src/deliveries/deliveries';
import { DeliverWebhooks } from '../../libs/orders/src/deliveries/deliver-webhooks';
import { WebhookEndpoints, type WithSecret } from '../../libs/orders/src/deliveries/endpoints';
import { FanOutEvents } from '../../libs/orders/src/deliveries/fan-out';
import { ForceCloseOrder } from '../../libs/orders/src/closing/force-close-order';
import { fanOutAll } from './fan-out-all';
import { insertOrders, insertProduct } from './insert-orders';
import { startWebhookListener, type WebhookListener } from './webhook-listener';
import { openWorld, type World } from './world';

/** Whoever makes endpoints, and does something with them, in tests. */
export const MIA = { actor: 'mia', reason: 'the shop hears of it' };

const settings = { WEBHOOKS_ALLOW_PRIVATE: 'on' };

/** Two workers of one shop, and an endpoint of a system of its own that takes everything at once. */
class EndpointBench {
  world!: World;
  other!: World;
  listener!: WebhookListener;
  made!: WithSecret;

  async open(): Promise<void> {
    this.world = await openWorld({ settings });
    this.other = await openWorld({ settings, beside: this.world });
    await insertProduct(this.world);
  }

  async close(): Promise<void> {
    await this.other?.close();
    await this.world?.close();
  }

  async make(): Promise<void> {
    this.listener = await startWebhookListener();
    this.made = await this.endpoints.create({ url: this.listener.url, events: ['*'] }, MIA);
  }

  async delete(): Promise<void> {
    await this.endpoints.delete(this.made.endpoint.id, MIA);
    await this.listener.close();
  }

  get endpoints(): WebhookEndpoints {
    return this.world.get(WebhookEndpoints);
  }

  get deliveries(): Deliveries {
    return this.world.get(Deliveries);
  }

  readonly deliver = () => this.world.get(DeliverWebhooks).runOnce();

  /** By both workers at the same time. */
  readonly deliverByBoth = () =>
    Promise.all([this.world, this.other].map((worker) => worker.get(DeliverWebhooks).runOnce()));

  /** As if so much time had passed for all that waits. */
  readonly waitIsOver = async (): Promise<void> => {
    await this.world.rows(
      `UPDATE webhook_deliveries SET next_attempt_at = now() - interval '1 second' WHERE status = 'pending'`,
    );
    await this.world.rows('UPDATE webhook_endpoints SET paused_until = NULL');
  };

  /** How many deliveries of the endpoint have which status. */
  readonly statuses = async (): Promise<Record<string, number>> => {
    const rows = await this.world.rows<{ status: string; n: number }>(
      `SELECT status, count(*)::int AS n FROM webhook_deliveries WHERE endpoint_id = $1 GROUP BY status`,
      [this.made.endpoint.id],
    );
    return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
  };

  /** Orders that are placed and closed: two events each. */
  readonly closedOrders = async (count: number): Promise<string[]> => {
    const orders = await insertOrders(this.world, { count, closesInMs: 60_000 });
    for (const { id } of orders) await this.world.get(ForceCloseOrder).forceClose(id, MIA);
    await fanOutAll(this.world, this.world.get(FanOutEvents));
    return orders.map(({ id }) => id);
  };

  readonly fails = (status: number): void => {
    this.listener.answer = (_, response) => void response.writeHead(status).end();
  };

  readonly works = (): void => this.fails(204);
}

/** A bench for the tests of a file, with an endpoint of its own for each of them. */
export function endpointForEach(): EndpointBench {
  const bench = new EndpointBench();
  beforeAll(() => bench.open());
  afterAll(() => bench.close());
  beforeEach(() => bench.make());
  afterEach(() => bench.delete());
  return bench;
}
