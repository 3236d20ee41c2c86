import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { until } from '../support/until';
import { assert, type Fault, type Step, USUAL_PROCESSES } from './fault';
import { allowed } from '../support/slowness';

/** Orders that something happens to, of each kind. */
const EACH = 5;
/** What the provider tells comes by webhooks, in any order, beside all others of the load. */
const HEARD_WITHIN_MS = 30_000;
/** Of eight orders each. */
const MOST_ROUNDS = 40;

/** Looks until it is so: nothing here hangs on how soon. */
const eventually = <T>(what: string, look: () => Promise<T>): Promise<NonNullable<T>> =>
  until(what, look, allowed(HEARD_WITHIN_MS));

interface Paid {
  readonly id: string;
  readonly theirs: string;
  readonly amount: number;
}

/** Paid orders that nobody ships, which nothing has happened to yet. */
async function paidOrders(step: Step, howMany: number): Promise<Paid[]> {
  return eventually('orders are paid', async () => {
    const rows = await step.rig.rows<{ id: string; theirs: string; amount: string }>(
      `SELECT o.id, p.provider_payment_id AS theirs, o.amount FROM orders o
         JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded' AND p.hold_reason IS NULL
        WHERE o.status = 'paid' AND o.paid_at < now() - interval '2 s' AND o.amount > 1
          AND NOT EXISTS (SELECT FROM money_movements m
                           WHERE m.order_id = o.id AND m.kind <> 'captured')
        ORDER BY o.id DESC LIMIT $1`,
      [howMany],
    );
    const paid = rows.map((row) => ({ ...row, amount: Number(row.amount) }));
    return paid.length === howMany ? paid : undefined;
  });
}

const statusOf = async (step: Step, { id }: Paid): Promise<string> => {
  const [row] = await step.rig.rows<{ status: string; reason: string | null }>(
    'SELECT status, close_reason AS reason FROM orders WHERE id = $1',
    [id],
  );
  return [row?.status, row?.reason].filter(Boolean).join(' ');
};

const become = (step: Step, orders: readonly Paid[], wanted: string): Promise<unknown> =>
  eventually(`orders are ${wanted}`, async () => {
    const statuses = await Promise.all(orders.map((order) => statusOf(step, order)));
    return statuses.every((status) => status === wanted);
  });

const sandbox = async (step: Step, call: string, body: object = {}): Promise<string> => {
  const answer = await step.client.sandbox(call, body);
  assert(answer.status < 300, `the sandbox answers ${call} with ${answer.status}`);
  return answer.body.id as unknown as string;
};

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

export const MONEY_FAULTS: readonly Fault[] = [
  {
    area: 'Money',
    isAboutMoney: true,
    name: 'disputes, and refunds made in the dashboard, under load and with lost notices',
    run: async (step) => {
      const { client } = step;
      const paid = await paidOrders(step, 6 * EACH);
      const some = (n: number): Paid[] => paid.slice(n * EACH, (n + 1) * EACH);
      const [partly, wholly, failing, won, lost, open] = [0, 1, 2, 3, 4, 5].map(some) as [
        Paid[],
        Paid[],
        Paid[],
        Paid[],
        Paid[],
        Paid[],
      ];
      await client.faults({ duplicateWebhooks: 1, reorderWebhooks: true, seed: 5 });
      const disputes = new Map<string, string>();
      for (const { theirs } of partly)
        await sandbox(step, `POST /v1/payments/${theirs}/refund`, { amount: 1 });
      for (const { theirs } of wholly) await sandbox(step, `POST /v1/payments/${theirs}/refund`);
      for (const { theirs } of [...won, ...lost, ...open]) {
        disputes.set(theirs, await sandbox(step, `POST /v1/payments/${theirs}/dispute`));
      }
      await become(step, wholly, 'canceled refunded_at_provider');
      // While the bank has not decided, goods stay.
      for (const { id } of open) {
        await eventually('its shipping is refused', async () => {
          const { status, body } = await client.api(`POST /v1/orders/${id}/shipment`, {
            scope: 'merchant',
          });
          return status === 409 && (body.why as unknown) === 'disputed';
        });
      }
      for (const { theirs } of failing) {
        const refund = await sandbox(step, `POST /v1/payments/${theirs}/refund`, { amount: 1 });
        await eventually(
          'the refund has succeeded',
          async () =>
            (await client.sandbox(`GET /v1/refunds/${refund}`)).body.status ===
            ('succeeded' as unknown),
        );
        await sandbox(step, `POST /v1/refunds/${refund}/fail`);
      }
      const decide = (orders: readonly Paid[], how: 'win' | 'lose'): Promise<unknown> =>
        Promise.all(
          orders.map(({ theirs }) =>
            sandbox(step, `POST /v1/disputes/${disputes.get(theirs)}/${how}`),
          ),
        );
      await decide(won, 'win');
      await decide(lost, 'lose');
      await become(step, lost, 'canceled dispute_lost');
      await become(step, [...partly, ...won, ...failing], 'paid');
      await decide(open, 'win');
      await step.heal(() => client.healProvider());
      const [second] = await step.rig.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM refunds r JOIN payments p ON p.id = r.payment_id
          WHERE p.order_id = ANY ($1::uuid[])`,
        [[...lost, ...wholly].map(({ id }) => id)],
      );
      assert(second?.n === 0, `${second?.n} refunds of money that was gone already`);
      return `${2 * EACH} orders canceled with their money, ${4 * EACH} kept; no money went back twice`;
    },
  },
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
