import { until } from '../support/until';
import { keepReconciling } from './reconciling';
import { assert, type Fault, type Step } from './fault';
import { allowed } from '../support/slowness';

/** Orders that something happens to, of each kind. */
const EACH = 5;
/** What the provider tells comes by webhooks, in any order, beside all others of the load. */
const HEARD_WITHIN_MS = 30_000;
/** Of all that the provider tells: who hears of it is whoever compares the books. */
const LOST = 0.3;

/** Looks until it is so: nothing here hangs on how soon. */
const eventually = <T>(what: string, look: () => Promise<T>): Promise<NonNullable<T>> =>
  until(what, look, allowed(HEARD_WITHIN_MS));

interface Paid {
  readonly id: string;
  readonly theirs: string;
  readonly amount: number;
}

/** Paid orders that nobody ships, which nothing has happened to yet. */
export async function paidOrders(step: Step, howMany: number): Promise<Paid[]> {
  return eventually('orders are paid', async () => {
    const rows = await step.rig.rows<{ id: string; theirs: string; amount: string }>(
      `SELECT o.id, p.provider_payment_id AS theirs, o.amount FROM orders o
         JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded' AND p.hold_reason IS NULL
        WHERE o.status = 'paid' AND o.paid_at < now() - interval '2 s' AND o.amount > 1
          AND NOT EXISTS (SELECT FROM money_movements m
                           WHERE m.order_id = o.id AND m.kind <> 'captured')
          AND o.id <> ALL ($2::uuid[])
        ORDER BY o.id DESC LIMIT $1`,
      [howMany, [...step.load.toBeShipped]],
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

async function areDisputed({ rig }: Step, orders: readonly Paid[]): Promise<boolean> {
  const [row] = await rig.rows<{ n: number }>(
    `SELECT count(DISTINCT order_id)::int AS n FROM money_movements
      WHERE kind = 'disputed' AND order_id = ANY ($1::uuid[])`,
    [orders.map(({ id }) => id)],
  );
  return row?.n === orders.length;
}

const sandbox = async (step: Step, call: string, body: object = {}): Promise<string> => {
  const answer = await step.client.sandbox(call, body);
  assert(answer.status < 300, `the sandbox answers ${call} with ${answer.status}`);
  return answer.body.id as unknown as string;
};

/** How many that tell of a refund or a dispute of theirs the provider has never sent. */
async function lostNotices({ client }: Step, paid: readonly Paid[]): Promise<number> {
  let lost = 0;
  for (const { theirs } of paid) {
    const path = `GET /v1/webhooks?status=dropped&providerPaymentId=${theirs}`;
    const items = (await client.sandbox(path)).body.items as unknown as { type: string }[];
    lost += items.filter(({ type }) => type !== 'payment.succeeded').length;
  }
  return lost;
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
      const faults = { duplicateWebhooks: 1, reorderWebhooks: true, dropWebhooks: LOST, seed: 5 };
      await client.faults(faults);
      const settled = await keepReconciling(step.rig);
      const disputes = new Map<string, string>();
      for (const { theirs } of partly)
        await sandbox(step, `POST /v1/payments/${theirs}/refund`, { amount: 1 });
      for (const { theirs } of wholly) await sandbox(step, `POST /v1/payments/${theirs}/refund`);
      for (const { theirs } of [...won, ...lost, ...open]) {
        disputes.set(theirs, await sandbox(step, `POST /v1/payments/${theirs}/dispute`));
      }
      await become(step, wholly, 'canceled refunded_at_provider');
      // While the bank has not decided, goods stay. Nobody can know of a lost notice before the books are compared.
      await eventually('all know of the disputes', () => areDisputed(step, open));
      for (const { id } of open) {
        const path = `POST /v1/orders/${id}/shipment`;
        const { status, body } = await eventually('its shipping is answered', async () => {
          const answer = await client.api(path, { scope: 'merchant' });
          return answer.status === 503 ? undefined : answer;
        });
        const why = body.why as unknown;
        assert(status === 409 && why === 'disputed', `shipping is answered with ${status} ${why}`);
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
      // What it tells late is believed as it comes: the books are compared for the last time behind all of that.
      await step.load.stop();
      await eventually('the provider has told all that it tells', async () => {
        const { undeliveredWebhooks } = (await client.sandbox('GET /health')).body;
        return Number(undeliveredWebhooks) === 0;
      });
      const [notices, found] = [await lostNotices(step, paid), await settled()];
      assert(
        notices > 0 && found > 0,
        `${notices} notices were lost, ${found} differences settled`,
      );
      const [second] = await step.rig.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM refunds r JOIN payments p ON p.id = r.payment_id
          WHERE p.order_id = ANY ($1::uuid[])`,
        [[...lost, ...wholly].map(({ id }) => id)],
      );
      assert(second?.n === 0, `${second?.n} refunds of money that was gone already`);
      return `${2 * EACH} orders canceled with their money, ${4 * EACH} kept; ${notices} of their notices were lost, ${found} differences settled by comparing the books; no money went back twice`;
    },
  },
];
