import type { Step } from './fault';

/**
 * How long it took, in milliseconds, from the provider's taking the money until its order was paid: of all
 * orders without this product that were paid for in that time. One that is not paid yet has waited until now.
 */
export async function paidWithin(
  { client, rig }: Step,
  without: string,
  since: Date,
  until: Date,
): Promise<number[]> {
  const { body } = await client.sandbox('GET /v1/ledger');
  const payments = body.payments as unknown as { reference: string; paidAt: string | null }[];
  const takenMs = new Map<string, number>();
  for (const { reference, paidAt } of payments) {
    const ms = Date.parse(paidAt ?? '');
    if (ms >= since.getTime() && ms < until.getTime()) takenMs.set(reference, ms);
  }
  const rows = await rig.rows<{ id: string; paid_ms: string }>(
    `SELECT p.id, 1000 * extract(epoch FROM coalesce(
              (SELECT min(at) FROM order_events WHERE order_id = o.id AND to_status = 'paid'),
              clock_timestamp())) AS paid_ms
       FROM payments p JOIN orders o ON o.id = p.order_id
      WHERE p.id = ANY ($1::uuid[]) AND o.status <> 'closed'
        AND NOT EXISTS (SELECT FROM order_items WHERE order_id = o.id AND sku = $2)`,
    [[...takenMs.keys()], without],
  );
  return rows.map(({ id, paid_ms: paidMs }) => Number(paidMs) - (takenMs.get(id) as number));
}
