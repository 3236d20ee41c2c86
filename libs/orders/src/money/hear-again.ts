import type { TimeoutService, Transaction } from '@app/timeout';
import type { Judged } from './judged-captures';

interface Heard {
  readonly id: string;
  readonly now: Date;
}

/**
 * What was told of payments that were none of ours until their money was told of now, such as refunds of theirs and
 * disputes: it is on hold, and is applied once this has committed. What somebody is settling just now stays theirs.
 */
export async function hearAgain(
  tx: Transaction,
  timeouts: TimeoutService,
  strays: readonly Judged[],
): Promise<void> {
  if (strays.length === 0) return;
  const rows = await tx.rows<Heard>(
    `UPDATE webhook_events SET status = 'received', result = NULL, processed_at = NULL
      WHERE id IN (
        SELECT id FROM webhook_events
         WHERE status = 'held' AND result = 'unknown_reference'
           AND (provider, notice ->> 'providerPaymentId')
               IN (SELECT * FROM unnest($1::text[], $2::text[]))
           FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING id, now() AS now`,
    [strays.map(({ row }) => row.provider), strays.map(({ capture }) => capture.providerPaymentId)],
  );
  await armAll(tx, timeouts, rows);
}

/**
 * SQL that is true of webhooks that told of attempts at a refund as made, and were processed; `orderId` and `refundId` are
 * SQL too. By the order's payments, which have an index.
 */
export const OTHER_ATTEMPTS_TOLD = (orderId: string, refundId: string): string =>
  `notice ->> 'paymentId' = ANY (ARRAY(SELECT id::text FROM payments WHERE order_id = ${orderId}::uuid))
   AND status = 'processed' AND notice ->> 'type' = 'refund.succeeded'
   AND (notice ->> 'idempotencyKey' = ${refundId}::text OR notice ->> 'idempotencyKey' LIKE ${refundId}::text || '-%')
   AND notice ->> 'providerRefundId' IS NOT NULL`;

/**
 * The successes that were told of other attempts at a refund, before one of the provider's, `ref`, has ended it: each is
 * money that went back beside that, and is applied once this has committed.
 */
export async function hearOtherAttemptsAgain(
  tx: Transaction,
  timeouts: TimeoutService,
  { orderId, refundId, ref }: { orderId: string; refundId: string; ref: string },
): Promise<void> {
  const rows = await tx.rows<Heard>(
    `UPDATE webhook_events SET status = 'received', result = NULL, processed_at = NULL
      WHERE id IN (
        SELECT id FROM webhook_events
         WHERE ${OTHER_ATTEMPTS_TOLD('$1', '$2')} AND notice ->> 'providerRefundId' <> $3
           FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING id, now() AS now`,
    [orderId, refundId, ref],
  );
  await armAll(tx, timeouts, rows);
}

const armAll = (
  tx: Transaction,
  timeouts: TimeoutService,
  heard: readonly Heard[],
): Promise<void> =>
  timeouts.arm(
    tx,
    heard.map(({ id, now }) => ({ kind: 'webhook', subjectId: id, dueAt: now, version: 1 })),
  );
