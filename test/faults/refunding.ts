import { randomUUID } from 'node:crypto';
import { until } from '../support/until';
import { allowed } from '../support/slowness';
import { assert, type Step } from './fault';
import { closedPayments, payLate } from './late-payments';
import { paidOrders } from './money.faults';

/** Late payments go back, and parts of what was paid, as operators send them back: so many of each. */
const EACH = 4;
const READY_WITHIN_MS = 30_000;
/** Of several the provider answers one call in eight in vain: a few rounds at most. */
const IN_VAIN_WITHIN_MS = 60_000;

/** Waits for what {@link refundMeanwhile} needs: of a provider that answers nobody no order closes. */
export async function beReadyToRefund(step: Step): Promise<void> {
  await until(
    'orders with payments have closed',
    async () => (await closedPayments(step, EACH)).length === EACH,
    allowed(READY_WITHIN_MS),
  );
  await paidOrders(step, EACH);
}

/**
 * Refunds that meet whatever the provider does at this time. `inVain`: it answers some so that nobody knows
 * what has become of them: where all of these are made at the first call, there are more.
 */
export async function refundMeanwhile(step: Step, inVain: boolean): Promise<void> {
  const since = await step.now();
  await payLate(step, EACH);
  for (const { id } of await paidOrders(step, EACH)) await giveBack(step, id);
  if (!inVain) return;
  const isAskedInVain = async (): Promise<boolean> => {
    const { isMet, areMade } = await howFar(step, since);
    if (areMade && !isMet) {
      for (const { id } of await paidOrders(step, EACH)) await giveBack(step, id);
    }
    return isMet;
  };
  const limitMs = allowed(IN_VAIN_WITHIN_MS);
  await until('the provider is asked for a refund in vain', isAskedInVain, limitMs);
}

/**
 * The refunds since then, in words. None may have failed: no answer that tells nothing ends an attempt, as the
 * next one would be another refund.
 */
export async function refundsSince(step: Step, since: Date): Promise<string> {
  const [row] = await step.rig.rows<{ late: number; parts: number; failed: number }>(
    `SELECT count(*) FILTER (WHERE reason <> 'operator')::int AS late,
            count(*) FILTER (WHERE reason = 'operator')::int AS parts,
            (SELECT count(*)::int FROM money_movements
              WHERE kind = 'refund_failed' AND at >= $1) AS failed
       FROM refunds WHERE created_at >= $1`,
    [since],
  );
  const { late = 0, parts = 0, failed = 0 } = row ?? {};
  const seen = `${late} late payments and ${parts} parts went back, each once`;
  assert(late > 0 && parts >= EACH, seen);
  assert(failed === 0, `${failed} refunds count as failed, of which the provider said nothing`);
  return seen;
}

/** Tried again where the API refuses, as operators do: by one key, so that it is one refund. */
async function giveBack({ client }: Step, orderId: string): Promise<void> {
  const call = {
    ...{ sub: 'olga', scope: 'ops', headers: { 'idempotency-key': randomUUID() } },
    body: { amount: 1, reason: 'a cup was broken' },
  };
  await until('a part is sent back', async () => {
    return (await client.api(`POST /v1/ops/orders/${orderId}/refunds`, call)).status === 201;
  });
}

/** `isMet`: one has been asked for, and what came back is not that it is made. `areMade`: all are. */
async function howFar(
  { rig }: Step,
  since: Date,
): Promise<{ readonly isMet: boolean; readonly areMade: boolean }> {
  const [row] = await rig.rows<{ met: boolean; made: boolean }>(
    `SELECT bool_or(status IN ('requested', 'failed') AND error IS NOT NULL) AS met,
            bool_and(status = 'succeeded') AS made
       FROM refunds WHERE created_at >= $1`,
    [since],
  );
  return { isMet: row?.met === true, areMade: row?.made === true };
}
