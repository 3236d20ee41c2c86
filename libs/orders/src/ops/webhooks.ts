import { queryRows, TimeoutService } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { LastcallError } from '../order/errors';
import { idOf } from '../order/given-id';
import { type ActionRun, recordAction } from '../order/operator-action';
import { type Page, pageOf } from '../order/page';
import { rehearse } from '../order/rehearse';
import { ENTRY, type WebhookEntry, type WebhookStatus } from './webhook-entry';

/** A page of stored webhooks, newest first. */
@Injectable()
export class ListWebhooks {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  async list(filter: {
    readonly status?: WebhookStatus | undefined;
    readonly limit: number;
    readonly cursor?: string | undefined;
  }): Promise<Page<WebhookEntry>> {
    const rows = await queryRows<WebhookEntry>(
      this.dataSource,
      `SELECT ${ENTRY} FROM webhook_events
        WHERE ($1::text IS NULL OR status = $1) AND ($2::uuid IS NULL OR id < $2)
        ORDER BY id DESC LIMIT $3`,
      [filter.status ?? null, filter.cursor ?? null, filter.limit + 1],
    );
    return pageOf(rows, filter.limit);
  }
}

/** An operator has a stored webhook applied again, after mending what held it. */
@Injectable()
export class ReplayWebhook {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
  ) {}

  /** @throws {LastcallError} webhook_not_found, webhook_not_replayable */
  async replay(
    webhookId: string,
    { dryRun = false, ...accountable }: ActionRun,
  ): Promise<WebhookEntry> {
    const id = idOf(webhookId, () => webhookNotFound(webhookId));
    return rehearse(dryRun, this.dataSource, async (tx) => {
      const [entry] = await tx.rows<WebhookEntry & { now: Date }>(
        `UPDATE webhook_events SET status = 'received', result = NULL, processed_at = NULL
        WHERE id = $1 AND status <> 'processed' RETURNING ${ENTRY}, now() AS now`,
        [id],
      );
      if (!entry) throw await this.#refusal(id);
      const { now, ...view } = entry;
      await this.timeouts.arm(tx, [{ kind: 'webhook', subjectId: id, dueAt: now, version: 1 }]);
      await recordAction(tx, 'webhook.replay', 'webhook', [id], accountable);
      return view;
    });
  }

  async #refusal(webhookId: string): Promise<LastcallError> {
    const [row] = await queryRows<{ result: string | null }>(
      this.dataSource,
      'SELECT result FROM webhook_events WHERE id = $1',
      [webhookId],
    );
    if (!row) return webhookNotFound(webhookId);
    return new LastcallError(
      'webhook_not_replayable',
      `Webhook ${webhookId} was processed (${row.result ?? 'no result'}); it has had its effect`,
      { result: row.result },
    );
  }
}

export const webhookNotFound = (webhookId: string): LastcallError =>
  new LastcallError('webhook_not_found', `There is no stored webhook ${webhookId}`);
