import { startWebhookListener } from '../support/webhook-listener';
import { until } from '../support/until';
import { assert, type Step } from './fault';
import { pause } from './load';

/** What a killed sender had in hand is sent again a minute later, and then what waited behind it. */
const HEARD_LIMIT_MS = 150_000;
const POLL_MS = 500;

export interface ShopSystem {
  /**
   * Waits until every event since it began to listen is heard. Each under an id of its own, which a
   * repetition has too; and no order's event before an earlier one of that order.
   */
  heardAll(): Promise<string>;
  close(): Promise<void>;
}

/** A system of the shop's own that hears of every event from now on. */
export async function hearWebhooks({ rig, client }: Step): Promise<ShopSystem> {
  const listener = await startWebhookListener();
  const { status, body } = await client.api('POST /v1/ops/webhook-endpoints', {
    scope: 'ops',
    body: { url: listener.url, events: ['*'], reason: 'it wants to hear of everything' },
  });
  assert(status === 201, `the endpoint was not made: ${status} ${JSON.stringify(body)}`);
  const { id } = (body as unknown as { endpoint: { id: string } }).endpoint;
  /** Of events that happened a moment ago no webhook may be written yet. */
  const missing = (before: Date): Promise<{ order_id: string; version: number }[]> =>
    rig.rows(
      `SELECT e.order_id, e.version FROM order_events e, webhook_endpoints w
        WHERE w.id = $1 AND e.tx >= w.from_tx AND e.at < $2
          AND NOT EXISTS (SELECT FROM webhook_deliveries d
                           WHERE d.endpoint_id = w.id AND d.order_id = e.order_id
                             AND d.version = e.version AND d.status = 'delivered')`,
      [id, before],
    );
  return {
    async heardAll() {
      const [row] = await rig.rows<{ now: Date }>('SELECT now() AS now');
      const { now } = row as { now: Date };
      await until(
        'every webhook is delivered',
        async () => {
          await pause(POLL_MS);
          return (await missing(now)).length === 0;
        },
        HEARD_LIMIT_MS,
      );
      const first = new Map<string, string>();
      const newest = new Map<string, number>();
      let repeated = 0;
      for (const { id: webhookId, orderId, version } of listener.heard) {
        const event = `${orderId} ${version}`;
        const known = first.get(event);
        if (known !== undefined) {
          assert(known === webhookId, `${event} came as ${known} and as ${webhookId}`);
          repeated += 1;
          continue;
        }
        const before = newest.get(orderId) ?? 0;
        assert(version > before, `${event} came after version ${before}`);
        first.set(event, webhookId);
        newest.set(orderId, version);
      }
      assert(new Set(first.values()).size === first.size, 'two events came under one id');
      const told = await rig.rows<{ order_id: string; version: number }>(
        `SELECT order_id, version FROM webhook_deliveries
          WHERE endpoint_id = $1 AND status = 'delivered'`,
        [id],
      );
      const unheard = told.filter(({ order_id, version }) => !first.has(`${order_id} ${version}`));
      assert(unheard.length === 0, `${unheard.length} are noted as delivered and were not heard`);
      return `${first.size} events heard, ${repeated} twice, under the same id; in their order`;
    },
    async close() {
      await client.api(`DELETE /v1/ops/webhook-endpoints/${id}`, {
        scope: 'ops',
        body: { reason: 'it has heard enough' },
      });
      await listener.close();
    },
  };
}
