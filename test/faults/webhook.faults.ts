import { randomUUID } from 'node:crypto';
import { type InsertedOrder, insertOrders } from '../support/insert-orders';
import { allowed } from '../support/slowness';
import { until } from '../support/until';
import { assert, type Fault, type Step } from './fault';
import { closedPayments, payLate } from './late-payments';

/** So many orders are paid when they are long closed. */
const LATE = 5;
const READY_WITHIN_MS = 30_000;

export const WEBHOOK_FAULTS: readonly Fault[] = [
  {
    area: 'Webhooks',
    name: 'fifty at once for each payment, reordered and duplicated',
    run: async (step) => {
      await step.client.faults({ duplicateWebhooks: 49, reorderWebhooks: true });
      await step.lasting(8_000, 3_000);
      await step.heal(() => step.client.healProvider());
      const [row] = await step.rig.rows<{ n: string }>(`SELECT count(*) AS n FROM webhook_events`);
      return `${row?.n} webhooks stored, each once, whatever came how often`;
    },
  },
  {
    area: 'Webhooks',
    name: 'dropped for good: the close asks',
    run: async (step) => {
      const since = await step.now();
      await step.client.faults({ dropWebhooks: true });
      await step.lasting(10_000, 5_000);
      const found = await until('the close has asked', async () => {
        const [row] = await step.rig.rows<{ n: number }>(
          `SELECT count(*)::int AS n FROM order_events
            WHERE from_status = 'closing' AND to_status = 'paid' AND at >= $1`,
          [since],
        );
        return row?.n;
      });
      await step.heal(() => step.client.healProvider());
      return `${found} payments were found by asking`;
    },
  },
  {
    area: 'Webhooks',
    name: 'three days late, for orders that are long closed',
    run: async (step) => {
      const closed = await until(
        'orders with payments have closed',
        async () => {
          // More than are paid: the load has buyers who pay late, too, and what is paid is not paid again.
          const payments = await closedPayments(step, 3 * LATE);
          return payments.length >= LATE ? payments : undefined;
        },
        allowed(READY_WITHIN_MS),
      );
      await setBackThreeDays(step, closed);
      const paid = await payLate(step, LATE, closed);
      await step.heal();
      const rows = await until('each of them is refunded', async () => {
        const refunds = await step.rig.rows<{ closed_at: Date }>(
          `SELECT o.closed_at FROM refunds r JOIN payments p ON p.id = r.payment_id
             JOIN orders o ON o.id = p.order_id
            WHERE p.provider_payment_id = ANY ($1) AND o.closed_at < now() - interval '3 days'`,
          [paid],
        );
        return refunds.length < paid.length ? undefined : refunds;
      });
      assert(
        rows.length === paid.length,
        `${rows.length} refunds for ${paid.length} late payments`,
      );
      return `${paid.length} late captures, ${rows.length} refunds`;
    },
  },
  {
    area: 'Webhooks',
    name: 'forged, stale, replayed, of a wrong amount, for nobody',
    quick: true,
    run: bogus,
  },
];

/** As if all of it had been three days earlier, but for what the provider knows of it. */
async function setBackThreeDays({ rig }: Step, payments: readonly string[]): Promise<void> {
  await rig.rows(
    `WITH paid_for AS (
       UPDATE payments SET created_at = created_at - interval '3 days',
              expires_at = expires_at - interval '3 days'
        WHERE provider_payment_id = ANY ($1) RETURNING order_id
     ), told AS (
       UPDATE order_events SET at = at - interval '3 days' WHERE order_id IN (TABLE paid_for)
     )
     UPDATE orders SET created_at = created_at - interval '3 days',
            pay_by = pay_by - interval '3 days', closes_at = closes_at - interval '3 days',
            closed_at = closed_at - interval '3 days'
      WHERE id IN (TABLE paid_for)`,
    [payments],
  );
}

/** So long nobody closes the order: whatever is tried with its payment takes a part of that. */
const OPEN_FOR_MS = 15_000;

interface OpenPayment {
  readonly id: string;
  readonly provider_payment_id: string;
  readonly amount: number;
}

/** Of none of the load's customers: those pay theirs, or fail to, within moments. */
async function openPayment({ client, rig }: Step): Promise<OpenPayment> {
  const wanted = { count: 1, closesInMs: OPEN_FOR_MS, payment: 'open' } as const;
  const [{ paymentId, amount }] = (await insertOrders(rig, wanted)) as [InsertedOrder];
  const id = paymentId as string;
  const asked = { reference: id, amount, currency: 'EUR' };
  const { status, body } = await client.sandbox('POST /v1/payments', asked);
  assert(status < 300, `the provider opened no payment: ${status}`);
  await rig.rows('UPDATE payments SET provider_payment_id = $2 WHERE id = $1', [id, body.id]);
  return { id, provider_payment_id: String(body.id), amount };
}

async function bogus(step: Step): Promise<string> {
  const { client, rig } = step;
  const open = await openPayment(step);
  const told = (reference: string, amount: number) => ({
    type: 'payment.succeeded',
    data: {
      ...{ providerPaymentId: open.provider_payment_id, reference, amount, currency: 'EUR' },
      paidAt: new Date().toISOString(),
    },
  });
  const right = told(open.id, open.amount);
  const refused = [
    await client.webhook(right, {
      secret: `whsec_${Buffer.from('a-secret-nobody-agreed-on').toString('base64')}`,
    }),
    await client.webhook(right, { ageS: 301 }),
  ].map(({ status, body }) => `${status} ${String(body.code)}`);
  assert(refused.join() === '400 bad_signature,400 stale_timestamp', refused.join());
  const stored = await rig.rows(`SELECT 1 FROM payments WHERE id = $1 AND status = 'open'`, [
    open.id,
  ]);
  assert(stored.length === 1, 'a forged webhook had an effect');

  const id = randomUUID();
  const nobody = told(randomUUID(), 100);
  const answers = [await client.webhook(nobody, { id }), await client.webhook(nobody, { id })];
  assert(
    answers.every(({ status }) => status === 200),
    'a stored webhook was not answered with 200',
  );
  const unknown = await until('money of nobody is held', async () => {
    const [row] = await rig.rows<{ status: string; result: string }>(
      'SELECT status, result FROM webhook_events WHERE event_id = $1',
      [id],
    );
    return row?.status === 'held' ? row : undefined;
  });
  // The provider really took one cent less: that is money of ours, and it waits for an operator.
  const amount = open.amount - 1;
  const less = await client.sandbox(`POST /v1/payments/${open.provider_payment_id}/pay`, {
    amount,
  });
  assert(less.status === 200, `the provider did not take less: ${less.status}`);
  await step.heal();
  const held = await until('a wrong amount is held', async () => {
    const [row] = await rig.rows<{ hold_reason: string | null }>(
      'SELECT hold_reason FROM payments WHERE id = $1',
      [open.id],
    );
    return row?.hold_reason ? row : undefined;
  });
  return `refused: ${refused.join(', ')}; unknown reference held as ${unknown.result}; wrong amount held as ${held.hold_reason}`;
}
