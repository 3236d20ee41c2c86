import type { TimeoutService, Transaction } from '@app/timeout';
import type { ProviderNotice } from '../providers/payment-provider';

export type EndNotice = Extract<ProviderNotice, { type: 'payment.failed' | 'payment.closed' }>;

/**
 * `known` where nothing is left to end, or what is said is of another payment of the provider. `busy`:
 * somebody holds the payment's row, so nothing was done, and it has to be told again.
 */
export type EndOutcome = 'ended' | 'known' | 'unknown_payment' | 'busy';

/**
 * The notice that ends a payment, by its place: what is said of another payment of the provider, with
 * our reference, does not end ours. Without an answer to our create call its id there is not known.
 */
const NTH_NOTICE = `CASE WHEN provider_payment_id IS NULL THEN array_position($1::uuid[], id)
  ELSE array_position($3::text[], id || ' ' || provider_payment_id) END`;

/** Ends open payments that came to nothing; one outcome for each notice, in their order. */
export async function endPayments(
  tx: Transaction,
  timeouts: TimeoutService,
  notices: readonly EndNotice[],
): Promise<EndOutcome[]> {
  if (notices.length === 0) return [];
  const paymentIds = notices.map(({ paymentId }) => paymentId);
  const rows = await tx.rows<{ nth: number; order_id: string; closing: boolean; due_at: Date }>(
    `WITH free AS MATERIALIZED (
       SELECT id FROM payments
        WHERE id = ANY ($1::uuid[]) AND status = 'open' FOR NO KEY UPDATE SKIP LOCKED
     ), ended AS (
       UPDATE payments SET status = ($2::text[])[${NTH_NOTICE}]
        WHERE id = ANY (ARRAY(SELECT id FROM free)) AND ${NTH_NOTICE} IS NOT NULL
       RETURNING ${NTH_NOTICE} AS nth, order_id
     )
     SELECT e.nth, e.order_id, o.status = 'closing' AS closing, now() AS due_at
       FROM ended e, LATERAL (SELECT status FROM orders WHERE id = e.order_id OFFSET 0) AS o`,
    [
      paymentIds,
      notices.map(({ type }) => (type === 'payment.failed' ? 'failed' : 'closed')),
      notices.map(({ paymentId, providerPaymentId }) => `${paymentId} ${providerPaymentId}`),
    ],
  );
  // An order behind the fence was waiting for just this.
  const behindTheFence = rows.filter(({ closing }) => closing);
  await timeouts.arm(
    tx,
    behindTheFence.map(({ order_id: subjectId, due_at: dueAt }) => {
      return { kind: 'closing', subjectId, dueAt, version: 1 };
    }),
  );
  const ended = new Set(rows.map(({ nth }) => nth));
  const left = await readLeft(tx, paymentIds);
  return notices.map((notice, index) =>
    ended.has(index + 1) ? 'ended' : outcomeOf(notice, left.get(notice.paymentId)),
  );
}

interface LeftRow {
  readonly id: string;
  readonly provider_payment_id: string | null;
  readonly is_open: boolean;
}

async function readLeft(
  tx: Transaction,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, LeftRow>> {
  const rows = await tx.rows<LeftRow>(
    `SELECT id, provider_payment_id, status = 'open' AS is_open
       FROM payments WHERE id = ANY ($1::uuid[])`,
    [paymentIds],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Of a notice that has ended nothing. */
function outcomeOf({ providerPaymentId }: EndNotice, row: LeftRow | undefined): EndOutcome {
  if (!row) return 'unknown_payment';
  const isMeant = row.provider_payment_id === null || row.provider_payment_id === providerPaymentId;
  return row.is_open && isMeant ? 'busy' : 'known';
}
