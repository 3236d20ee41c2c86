import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { LastcallError } from '../order/errors';
import { idOf } from '../order/given-id';
import { webhookNotFound } from './webhooks';
import { type ActionRun, recordAction } from '../order/operator-action';
import { rehearse } from '../order/rehearse';

/** An operator ends the wait of a held webhook that nothing can be done about. */
@Injectable()
export class DismissWebhook {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /**
   * The webhook stays, with result `dismissed`. Money on hold is settled and not dismissed.
   * @throws {LastcallError} webhook_not_found, webhook_not_dismissable
   */
  async dismiss(
    webhookId: string,
    { dryRun = false, ...accountable }: ActionRun,
  ): Promise<{ readonly id: string }> {
    const id = idOf(webhookId, () => webhookNotFound(webhookId));
    return rehearse(dryRun, this.dataSource, async (tx) => {
      const [webhook] = await tx.rows<{ status: string; payment_id: string | null }>(
        `SELECT w.status, p.id AS payment_id FROM webhook_events w
         LEFT JOIN payments p ON p.provider = w.provider AND p.hold_reason IS NOT NULL
          AND p.provider_payment_id = w.notice ->> 'providerPaymentId'
        WHERE w.id = $1 FOR NO KEY UPDATE OF w`,
        [id],
      );
      if (!webhook) throw webhookNotFound(id);
      const { status, payment_id: paymentId } = webhook;
      if (status !== 'held' || paymentId) throw refusal(id, status, paymentId);
      await tx.rows(
        `UPDATE webhook_events SET status = 'processed', result = 'dismissed',
              processed_at = now() WHERE id = $1`,
        [id],
      );
      await recordAction(tx, 'webhook.dismiss', 'webhook', [id], accountable);
      return { id };
    });
  }
}

function refusal(webhookId: string, status: string, paymentId: string | null): LastcallError {
  const why = paymentId
    ? `tells of money on hold: settle payment ${paymentId}, which ends it as well`
    : `is ${status}; only a held one can be dismissed`;
  return new LastcallError('webhook_not_dismissable', `Webhook ${webhookId} ${why}`, {
    status,
    paymentId,
  });
}
