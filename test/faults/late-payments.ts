import { until } from '../support/until';
import { assert, type Step } from './fault';

/** Buyers pay orders that have been closed, some of these or of the newest: the provider takes the money all the same. */
export async function payLate(
  step: Step,
  howMany: number,
  some?: readonly string[],
): Promise<string[]> {
  const paid: string[] = [];
  const newest = (): Promise<string[]> =>
    until('an order with a payment has closed', async () => {
      const found = await closedPayments(step, howMany * 3);
      return found.length > 0 ? found : undefined;
    });
  for (const id of some ?? (await newest())) {
    if (paid.length === howMany) break;
    const answer = await step.client.sandbox(`POST /v1/payments/${id}/pay`, { afterClose: true });
    if (answer.status === 200) paid.push(id);
  }
  assert(paid.length > 0, 'no late payment could be made');
  return paid;
}

/** What the provider calls the payments that ended with their orders, of those closed last. */
export async function closedPayments({ rig }: Step, atMost: number): Promise<string[]> {
  const rows = await rig.rows<{ provider_payment_id: string }>(
    `SELECT p.provider_payment_id FROM payments p JOIN orders o ON o.id = p.order_id
      WHERE o.status = 'closed' AND p.status = 'closed' AND p.provider_payment_id IS NOT NULL
      ORDER BY o.closed_at DESC LIMIT $1`,
    [atMost],
  );
  return rows.map(({ provider_payment_id: id }) => id);
}
