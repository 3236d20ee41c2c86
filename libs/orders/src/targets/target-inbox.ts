import type { Tx } from '@app/timeout';
import { uuidv7 } from '../order/uuid';
import { reviveDates } from '../payments/webhook-inbox';
import type { ProviderNotice } from '../providers/payment-provider';

/** A stored webhook that waits to be applied. */
export interface WaitingWebhook {
  readonly webhookId: string;
  readonly provider: string;
  readonly notice: ProviderNotice;
  /** How often it has been tried, this time included. */
  readonly attempt: number;
}

/** What providers have told of a shop's own payments: stored, and only then answered with 2xx. */
export class TargetInbox {
  readonly #table: string;

  constructor(schema: string) {
    this.#table = `"${schema}".target_webhooks`;
  }

  /** Our ids of those that are new, by the provider's; one that was stored before is not among them. */
  async store(
    tx: Tx,
    provider: string,
    notices: readonly ProviderNotice[],
  ): Promise<ReadonlyMap<string, string>> {
    const rows = await tx.query<{ id: string; event_id: string }>(
      `INSERT INTO ${this.#table} (id, provider, event_id, notice)
       SELECT id, $2, event_id, notice FROM unnest($1::uuid[], $3::text[], $4::jsonb[])
         AS n (id, event_id, notice) ORDER BY event_id
       ON CONFLICT (provider, event_id) DO NOTHING RETURNING id, event_id`,
      [
        notices.map(() => uuidv7()),
        provider,
        notices.map(({ eventId }) => eventId),
        notices.map((notice) => JSON.stringify(notice)),
      ],
    );
    return new Map(rows.map(({ id, event_id: eventId }) => [eventId, id]));
  }

  async take(tx: Tx, webhookIds: readonly string[]): Promise<WaitingWebhook[]> {
    const rows = await tx.query<{
      id: string;
      provider: string;
      notice: ProviderNotice;
      attempts: number;
    }>(
      `UPDATE ${this.#table} SET attempts = attempts + 1
        WHERE id = ANY ($1::uuid[]) AND status = 'received'
       RETURNING id, provider, notice, attempts`,
      [webhookIds],
    );
    return rows.map((row) => ({
      webhookId: row.id,
      provider: row.provider,
      notice: reviveDates(row.notice),
      attempt: row.attempts,
    }));
  }

  async settle(
    tx: Tx,
    outcomes: readonly {
      readonly webhookId: string;
      readonly status: 'processed' | 'held';
      readonly result: string;
    }[],
  ): Promise<void> {
    if (outcomes.length === 0) return;
    await tx.query(
      `UPDATE ${this.#table}
          SET (status, result, processed_at) = (
            SELECT ($2::text[])[n], ($3::text[])[n], now() FROM array_position($1::uuid[], id) AS n)
        WHERE id = ANY ($1::uuid[])`,
      [
        outcomes.map(({ webhookId }) => webhookId),
        outcomes.map(({ status }) => status),
        outcomes.map(({ result }) => result),
      ],
    );
  }
}
