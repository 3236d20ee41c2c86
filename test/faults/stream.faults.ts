import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { until } from '../support/until';
import { assert, type Fault, type Step, USUAL_PROCESSES } from './fault';

/** Of eight orders each. */
const MOST_ROUNDS = 40;

async function place({ client }: Step, sub: string): Promise<string> {
  const { body: order } = await client.api('POST /v1/orders', {
    ...{ sub, body: { items: [{ sku: 'TEA-A', quantity: 1 }] } },
    headers: { 'idempotency-key': randomUUID() },
  });
  return order.id as unknown as string;
}

async function payAndCancel(step: Step): Promise<void> {
  const { client } = step;
  const sub = `customer-${randomUUID()}`;
  const id = await place(step, sub);
  const { body: payment } = await client.api(`POST /v1/orders/${id}/payments`, { sub });
  if (payment.providerPaymentId === undefined) return;
  await Promise.all([
    client.sandbox(`POST /v1/payments/${payment.providerPaymentId}/pay`, {}),
    client.api(`POST /v1/orders/${id}/cancel`, { sub }),
  ]);
}

/** Of two changes in one transaction each, the older is the later one wherever it waits and the other does not. */
async function cancelAndExtend(step: Step): Promise<void> {
  const { client } = step;
  const sub = `customer-${randomUUID()}`;
  const id = await place(step, sub);
  const extension = { sub: 'olga', scope: 'ops', body: { seconds: 60, reason: 'asked for it' } };
  await Promise.all([
    client.api(`POST /v1/orders/${id}/cancel`, { sub }),
    client.api(`POST /v1/ops/orders/${id}/extension`, extension),
  ]);
}

/**
 * Events whose transaction is older than that of the event before: they are written with the place and the
 * date of that one, so that nothing but who wrote the row tells them apart.
 */
async function countInverted({ rig }: Step, since: Date): Promise<number> {
  const [row] = await rig.rows<{ n: number }>(
    `SELECT count(*)::int AS n FROM order_events e JOIN order_events before
         ON before.order_id = e.order_id AND before.version = e.version - 1
      WHERE e.tx = before.tx AND e.xmin <> before.xmin AND e.at >= $1`,
    [since],
  );
  return row?.n ?? 0;
}

/** Each of these orders' versions in the stream, as they came first, once all of them are there. */
async function readStream(
  step: Step,
  since: Date,
): Promise<{ orders: number; wrong: string[] } | undefined> {
  const written = await step.rig.rows<{ order_id: string; version: number }>(
    `SELECT e.order_id, e.version FROM order_events e JOIN orders o ON o.id = e.order_id
      WHERE o.created_at >= $1`,
    [since],
  );
  const missing = new Set(written.map(({ order_id, version }) => `${order_id} ${version}`));
  const ours = new Set(written.map(({ order_id }) => order_id));
  const redis = new Redis(step.rig.redisUrl);
  const highest = new Map<string, number>();
  const wrong: string[] = [];
  try {
    for (const [, fields] of await redis.xrange('lc:order-events', '-', '+')) {
      const entry = Object.fromEntries(
        fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]]] : [])),
      ) as { orderId: string; version: string };
      if (!ours.has(entry.orderId)) continue;
      missing.delete(`${entry.orderId} ${entry.version}`);
      const before = highest.get(entry.orderId) ?? 0;
      const version = Number(entry.version);
      if (version > before + 1) wrong.push(`${entry.orderId} ${version}`);
      highest.set(entry.orderId, Math.max(before, version));
    }
  } finally {
    redis.disconnect();
  }
  return missing.size > 0 ? undefined : { orders: highest.size, wrong };
}

export const STREAM_FAULTS: readonly Fault[] = [
  {
    area: 'Money',
    name: 'transaction ids in another order than commits: the stream keeps each order',
    run: async (step) => {
      const { rig } = step;
      // Whoever has the lock begins its transaction after the one before: so without it.
      for (const { name, roles } of USUAL_PROCESSES) {
        await rig.process(name).stop();
        await rig.start({ name, roles, env: { EARLY_IDS: '400', LOCK: 'none' } });
      }
      // Customers who cancel what they are paying for, or have just got more time for: two changes of one order
      // at the same time. Who begins first and commits last is chance, so until it has come about.
      const since = await step.now();
      const least = step.quick ? 3 : 8;
      let inverted = 0;
      for (let round = 0; round < least || (inverted === 0 && round < MOST_ROUNDS); round++) {
        const both = Array.from({ length: 4 }, () => [payAndCancel(step), cancelAndExtend(step)]);
        await Promise.all(both.flat());
        inverted = await countInverted(step, since);
      }
      for (const what of ['transactions have their ids early', 'there are no locks']) {
        step.assertSabotaged(
          USUAL_PROCESSES.map(({ name }) => name),
          what,
        );
      }
      for (const child of rig.processes) await child.stop();
      await step.backToUsual();
      assert(inverted > 0, 'no transaction came before an older one');
      await step.heal();
      const { orders, wrong } = await until('the stream has it all', () => readStream(step, since));
      assert(orders > 0, 'the stream is empty');
      assert(wrong.length === 0, `out of order: ${wrong.slice(0, 3).join(', ')}`);
      return `${orders} orders in the stream, each in order; ${inverted} events had an older transaction than the one before`;
    },
  },
];
