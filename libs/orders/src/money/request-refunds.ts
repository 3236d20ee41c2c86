import type { TimeoutService, Transaction } from '@app/timeout';
import { v7 as uuidv7 } from 'uuid';
import type { RefundReason } from '../order/order';

export interface RefundOrder {
  readonly paymentId: string;
  readonly reason: RefundReason;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
}

/**
 * Writes refunds as rows in the transaction that decided them, due at once; the call to the
 * provider follows the commit (run-refunds.handler.ts). One for each payment and reason: asking
 * again changes nothing.
 */
export async function requestRefunds(
  tx: Transaction,
  timeouts: TimeoutService,
  refunds: readonly RefundOrder[],
): Promise<void> {
  if (refunds.length === 0) return;
  const written = await tx.rows<{ id: string; due_at: Date }>(
    `WITH written AS (
       INSERT INTO refunds (id, payment_id, reason, amount, currency)
       SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::text[])
       ON CONFLICT (payment_id, reason) DO NOTHING RETURNING id
     )
     INSERT INTO deadlines (kind, due_at, subject_id)
     SELECT 'refund', now(), id FROM written RETURNING subject_id AS id, due_at`,
    [
      refunds.map(() => uuidv7()),
      refunds.map((refund) => refund.paymentId),
      refunds.map((refund) => refund.reason),
      refunds.map((refund) => refund.amount),
      refunds.map((refund) => refund.currency),
    ],
  );
  timeouts.armed(
    tx,
    written.map(({ id, due_at }) => ({ kind: 'refund', subjectId: id, dueAt: due_at, version: 1 })),
  );
}
