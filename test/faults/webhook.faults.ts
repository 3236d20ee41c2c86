import { randomUUID } from 'node:crypto';
import { assert, type Fault, type Step } from './fault';
import { pause } from './load';
import { payLate } from './provider.faults';

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
      await step.client.faults({ dropWebhooks: true });
      await step.lasting(10_000, 5_000);
      await step.heal(() => step.client.healProvider());
      const [row] = await step.rig.rows<{ n: string }>(
        `SELECT count(*) AS n FROM order_events WHERE from_status = 'closing' AND to_status = 'paid'`,
      );
      return `${row?.n} payments were found by asking`;
    },
  },
  {
    area: 'Webhooks',
    name: 'three days late, for orders that are long closed',
    run: async (step) => {
      const paid = await payLate(step, 5);
      await step.heal();
      await pause(3_000);
      const rows = await step.rig.rows<{ status: string }>(
        `SELECT r.status FROM refunds r JOIN payments p ON p.id = r.payment_id
          WHERE p.provider_payment_id = ANY ($1)`,
        [paid],
      );
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

async function bogus(step: Step): Promise<string> {
  const { client, rig } = step;
  const [open] = await rig.rows<{ id: string; provider_payment_id: string; amount: string }>(
    `SELECT p.id, p.provider_payment_id, p.amount FROM payments p JOIN orders o ON o.id = p.order_id
      WHERE p.status = 'open' AND o.status = 'pending_payment' AND p.provider_payment_id IS NOT NULL
      ORDER BY o.closes_at DESC LIMIT 1`,
  );
  assert(open, 'no payment is open');
  const told = (reference: string, amount: number) => ({
    type: 'payment.succeeded',
    data: {
      ...{ providerPaymentId: open.provider_payment_id, reference, amount, currency: 'EUR' },
      paidAt: new Date().toISOString(),
    },
  });
  const right = told(open.id, Number(open.amount));
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
  const [unknown] = await rig.rows<{ status: string; result: string }>(
    'SELECT status, result FROM webhook_events WHERE event_id = $1',
    [id],
  );
  assert(unknown?.status === 'held', 'money of nobody is not held');
  // The provider really took one cent less: that is money of ours, and it waits for an operator.
  const amount = Number(open.amount) - 1;
  await client.sandbox(`POST /v1/payments/${open.provider_payment_id}/pay`, { amount });
  await step.heal();
  await pause(2_000);
  const [held] = await rig.rows<{ hold_reason: string }>(
    'SELECT hold_reason FROM payments WHERE id = $1',
    [open.id],
  );
  assert(held?.hold_reason, 'a wrong amount is not held');
  return `refused: ${refused.join(', ')}; unknown reference held as ${unknown.result}; wrong amount held as ${held.hold_reason}`;
}
