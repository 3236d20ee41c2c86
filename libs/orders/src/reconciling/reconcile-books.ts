import type { QueryRunner } from 'typeorm';
import type { PaymentStatus } from '../order/order';
import type { LedgerPayment } from '../providers/payment-provider';
import type { MovementKind } from '../money/movements';
import type { Finding, OurPayment, OurRefund } from './reconcile.judgement';
import { isUuid } from '../order/uuid';

/* Our side of a reconciliation. Which payments the ledger had is noted in a temporary table. */

interface PaymentRow {
  id: string;
  order_id: string;
  provider_payment_id: string | null;
  status: PaymentStatus;
  captured_amount: string | null;
  captured_currency: string | null;
  refunds: OurRefund[] | null;
  foreign: { kind: MovementKind; ref: string }[] | null;
}

/** Payments in a page, of either side. */
export const PAGE = 500;

export async function query<Row>(runner: QueryRunner, sql: string, params: unknown[] = []) {
  const { records } = await runner.query(sql, params, true);
  return (records ?? []) as Row[];
}

/** Notes what the ledger has, and reads our side of it: what answers with our payment for theirs. */
export async function readOurs(
  runner: QueryRunner,
  provider: string,
  page: readonly LedgerPayment[],
) {
  const ids = page.flatMap(({ paymentId }) => (paymentId && isUuid(paymentId) ? [paymentId] : []));
  await runner.query('INSERT INTO seen_payments SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING', [
    ids,
  ]);
  const rows = await query<PaymentRow>(
    runner,
    `SELECT p.id, p.order_id, p.provider_payment_id, p.status, p.captured_amount,
            p.captured_currency,
            (SELECT json_agg(json_build_object('id', r.id, 'status', r.status,
                      'attempt', r.attempt, 'amount', r.amount,
                      'providerRefundId', r.provider_refund_id))
               FROM refunds r WHERE r.payment_id = p.id) AS refunds,
            (SELECT json_agg(json_build_object('kind', m.kind, 'ref', m.ref))
               FROM money_movements m
              WHERE m.payment_id = p.id AND m.kind IN ('foreign_refund', 'foreign_refund_failed',
                'disputed', 'dispute_won', 'dispute_lost')) AS foreign
       FROM payments p
      WHERE p.provider = $2
        AND (p.id = ANY ($1::uuid[]) OR p.provider_payment_id = ANY ($3::text[]))`,
    [ids, provider, page.map(({ providerPaymentId }) => providerPaymentId)],
  );
  await runner.query('INSERT INTO seen_payments SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING', [
    rows.map(({ id }) => id),
  ]);
  const ours = rows.map((row): OurPayment => ({
    id: row.id,
    orderId: row.order_id,
    providerPaymentId: row.provider_payment_id,
    status: row.status,
    captured:
      row.captured_amount === null || row.captured_currency === null
        ? null
        : { amount: Number(row.captured_amount), currency: row.captured_currency },
    refunds: row.refunds ?? [],
    foreign: row.foreign ?? [],
  }));
  const byId = new Map(ours.map((one) => [one.id, one]));
  const byTheirId = new Map(ours.map((one) => [one.providerPaymentId, one]));
  return (theirs: LedgerPayment): OurPayment | undefined =>
    byTheirId.get(theirs.providerPaymentId) ?? byId.get(theirs.paymentId ?? '');
}

/** Payments that the provider has told us of, and that are not in its ledger. */
export async function* oursOnly(
  runner: QueryRunner,
  provider: string,
  { since, signal }: { readonly since: Date; readonly signal?: AbortSignal | undefined },
  startedAt: Date,
): AsyncGenerator<Finding> {
  let after = '00000000-0000-0000-0000-000000000000';
  while (!signal?.aborted) {
    const rows = await query<{ id: string; order_id: string; status: string; theirs: string }>(
      runner,
      `SELECT p.id, p.order_id, p.status, p.provider_payment_id AS theirs FROM payments p
        WHERE p.provider = $1 AND p.created_at >= $2 AND p.created_at < $3 AND p.id > $4
          AND (p.provider_payment_id IS NOT NULL OR p.status = 'succeeded')
          AND NOT EXISTS (SELECT 1 FROM seen_payments s WHERE s.id = p.id)
        ORDER BY p.id LIMIT $5`,
      [provider, since, startedAt, after, PAGE],
    );
    for (const row of rows) {
      const about = { subject: 'payment', what: 'existence', kind: 'ours_only' } as const;
      const ids = { paymentId: row.id, orderId: row.order_id, refundId: null };
      yield { ...about, ...ids, providerId: row.theirs, ours: row.status, theirs: null };
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last.id;
  }
}
