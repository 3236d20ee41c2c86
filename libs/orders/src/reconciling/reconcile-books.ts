import type { PaymentStatus } from '../order/order';
import type { Queryable } from '../order/order-rows';
import type { LedgerPayment } from '../providers/payment-provider';
import { BY_HAND, type MovementKind } from '../money/movements';
import type { Finding, OurPayment, OurRefund } from './reconcile-finding';
import { isUuid, uuidsBetween } from '../order/uuid';
import type { ReconcileRun } from './reconcile-runs';

/* Our side of a reconciliation. */

interface PaymentRow {
  id: string;
  order_id: string;
  provider_payment_id: string | null;
  status: PaymentStatus;
  captured_amount: string | null;
  captured_currency: string | null;
  is_new: boolean;
  refunds: OurRefund[] | null;
  foreign: { kind: MovementKind; ref: string }[] | null;
}

/** Payments of ours in a page. */
const PAGE = 500;
/** By how much the clock of who gave a payment its id may be behind the database's. */
const CLOCKS_MS = 86_400_000;
/** One that was opened just before the run may be made at the provider behind the page where it belongs. */
const MADE_WITHIN_MS = 60_000;

/**
 * What answers with our payment for theirs, and the ids of ours that this page is about. Ours are read
 * after the page, which a provider may take half a minute for: what happened meanwhile is new.
 */
export async function readOurs(
  sql: Queryable,
  { startedAt }: ReconcileRun,
  provider: string,
  page: readonly LedgerPayment[],
) {
  const ids = page.flatMap(({ paymentId }) => (paymentId && isUuid(paymentId) ? [paymentId] : []));
  const rows = await sql.rows<PaymentRow>(
    `SELECT p.id, p.order_id, p.provider_payment_id, p.status, p.captured_amount,
            p.captured_currency, coalesce(p.recorded_at >= $4, false) AS is_new,
            (SELECT json_agg(json_build_object('id', r.id, 'status', r.status,
                      'attempt', r.attempt, 'amount', r.amount,
                      'providerRefundId', r.provider_refund_id, 'isNew', r.updated_at >= $4,
                      'isByHand', EXISTS (
                        SELECT FROM money_movements m
                         WHERE m.payment_id = r.payment_id AND m.kind = 'refund_succeeded'
                           AND m.ref = r.id || '-' || r.attempt AND m.reason = '${BY_HAND}')))
               FROM refunds r WHERE r.payment_id = p.id) AS refunds,
            (SELECT json_agg(json_build_object('kind', m.kind, 'ref', m.ref))
               FROM money_movements m
              WHERE m.payment_id = p.id AND m.kind IN ('foreign_refund', 'foreign_refund_failed',
                'disputed', 'dispute_won', 'dispute_lost', 'dispute_returned')) AS foreign
       FROM payments p
      WHERE p.provider = $2
        AND (p.id = ANY ($1::uuid[]) OR p.provider_payment_id = ANY ($3::text[]))`,
    [ids, provider, page.map(({ providerPaymentId }) => providerPaymentId), startedAt],
  );
  const ours = rows.map((row): OurPayment => ({
    id: row.id,
    orderId: row.order_id,
    providerPaymentId: row.provider_payment_id,
    status: row.status,
    captured:
      row.captured_amount === null || row.captured_currency === null
        ? null
        : { amount: Number(row.captured_amount), currency: row.captured_currency },
    isNew: row.is_new,
    refunds: row.refunds ?? [],
    foreign: row.foreign ?? [],
  }));
  const byId = new Map(ours.map((one) => [one.id, one]));
  const byTheirId = new Map(ours.map((one) => [one.providerPaymentId, one]));
  return {
    ids: [...new Set([...ids, ...rows.map(({ id }) => id)])],
    ours: (theirs: LedgerPayment): OurPayment | undefined =>
      byTheirId.get(theirs.providerPaymentId) ?? byId.get(theirs.paymentId?.toLowerCase() ?? ''),
  };
}

/**
 * Payments that the provider has told us of and its ledger did not have, in pages of their ids, which tell when
 * they were opened. The youngest are left to the next run.
 */
export async function* readOursOnly(
  sql: Queryable,
  { id: runId, since, startedAt }: ReconcileRun,
  provider: string,
  from: string | null,
): AsyncGenerator<{ readonly findings: readonly Finding[]; readonly next: string }> {
  const [first] = uuidsBetween(new Date(since.getTime() - CLOCKS_MS));
  const until = new Date(startedAt.getTime() - MADE_WITHIN_MS);
  let after = from ?? first;
  for (;;) {
    const rows = await sql.rows<{ id: string; order_id: string; status: string; theirs: string }>(
      `SELECT p.id, p.order_id, p.status, p.provider_payment_id AS theirs FROM payments p
        WHERE p.provider = $1 AND p.created_at >= $2 AND p.created_at < $3 AND p.id > $4
          AND (p.provider_payment_id IS NOT NULL OR p.status = 'succeeded')
          AND NOT EXISTS (
                SELECT 1 FROM reconcile_seen s WHERE s.run_id = $6 AND s.payment_id = p.id)
        ORDER BY p.id LIMIT $5`,
      [provider, since, until, after, PAGE, runId],
    );
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
    yield { findings: rows.map(toFinding), next: last.id };
  }
}

function toFinding(row: { id: string; order_id: string; status: string; theirs: string }): Finding {
  const about = { subject: 'payment', what: 'existence', kind: 'ours_only' } as const;
  const ids = { paymentId: row.id, orderId: row.order_id, refundId: null };
  return { ...about, ...ids, providerId: row.theirs, ours: row.status, theirs: null };
}
