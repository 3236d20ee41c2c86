import type { TimeoutService, Transaction } from '@app/timeout';
import type { Judged } from './judged-captures';

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
  const rows = await tx.rows<{ id: string; now: Date }>(
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
  await timeouts.arm(
    tx,
    rows.map(({ id, now }) => ({ kind: 'webhook', subjectId: id, dueAt: now, version: 1 })),
  );
}
