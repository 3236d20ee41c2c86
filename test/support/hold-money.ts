import type { Queryable } from '@app/orders';

/** Makes a payment one whose captured money, in minor units of EUR, waits for an operator. */
export async function holdMoney(
  sql: Queryable,
  paymentId: string | null | undefined,
  amount: number,
  reason: string,
): Promise<void> {
  await sql.rows(
    `UPDATE payments SET status = 'succeeded', captured_amount = $2, captured_currency = 'EUR',
            paid_at = now(), recorded_at = now(), hold_reason = $3 WHERE id = $1`,
    [paymentId, amount, reason],
  );
  await sql.rows(
    `INSERT INTO money_movements
            (order_id, payment_id, kind, ref, amount, currency, source, reason)
     SELECT order_id, id, kind, provider_payment_id, $2, 'EUR', 'webhook', $3
       FROM payments, unnest('{captured,held}'::text[]) AS k (kind) WHERE id = $1`,
    [paymentId, amount, reason],
  );
}
