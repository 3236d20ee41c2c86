import type { Transaction } from '@app/timeout';
import { uuidv7 } from '../order/uuid';
import type { ProviderNotice } from '../providers/payment-provider';

/** A webhook that is stored: our id of it, and the notice it brought. */
export interface StoredWebhook {
  readonly webhookId: string;
  /** Who sent it; it may speak of its own payments only. */
  readonly provider: string;
  readonly notice: ProviderNotice;
}

/**
 * What became of a webhook; `held` waits for an operator, for the reason given. `received`: nothing
 * has been done yet, as somebody holds what it needs; it has to be applied again.
 */
export interface WebhookOutcome {
  readonly status: 'processed' | 'held' | 'received';
  readonly result: string;
}

/**
 * Stores webhooks, unique by provider and the provider's id. Answers with those whose notices still
 * have to be applied; one that was stored before, settled or in other hands, is not among them.
 */
export async function storeWebhooks(
  tx: Transaction,
  provider: string,
  notices: readonly ProviderNotice[],
): Promise<StoredWebhook[]> {
  const rows = await tx.hot<{ id: string; event_id: string }>(
    `INSERT INTO webhook_events (id, provider, event_id, notice)
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
  const byEvent = new Map(notices.map((notice) => [notice.eventId, notice]));
  return rows.map((row) => ({
    webhookId: row.id,
    provider,
    notice: byEvent.get(row.event_id) as ProviderNotice,
  }));
}

/** Which of these wait to be applied, whoever has their rows. */
export async function findReceived(
  tx: Transaction,
  webhookIds: readonly string[],
): Promise<string[]> {
  if (webhookIds.length === 0) return [];
  const rows = await tx.rows<{ id: string }>(
    `SELECT id FROM webhook_events WHERE id = ANY ($1::uuid[]) AND status = 'received'`,
    [webhookIds],
  );
  return rows.map(({ id }) => id);
}

/** Reads stored webhooks that wait to be applied and locks their rows; those that somebody has are left out. */
export async function takeReceived(
  tx: Transaction,
  webhookIds: readonly string[],
): Promise<StoredWebhook[]> {
  const rows = await tx.rows<{ id: string; provider: string; notice: ProviderNotice }>(
    `SELECT id, provider, notice FROM webhook_events
      WHERE id = ANY ($1::uuid[]) AND status = 'received' FOR NO KEY UPDATE SKIP LOCKED`,
    [webhookIds],
  );
  return rows.map((row) => ({
    webhookId: row.id,
    provider: row.provider,
    notice: reviveDates(row.notice),
  }));
}

/**
 * Writes beside each stored webhook what became of it, unless nothing has yet; one outcome for each,
 * in their order.
 */
export async function settleWebhooks(
  tx: Transaction,
  stored: readonly StoredWebhook[],
  outcomes: readonly WebhookOutcome[],
): Promise<void> {
  if (stored.length === 0) return;
  const settled = stored.flatMap(({ webhookId }, index) => {
    const { status, result } = outcomes[index] as WebhookOutcome;
    return status === 'received' ? [] : [{ webhookId, status, result }];
  });
  await tx.hot(
    // By the array and not joined with it: a plan from when there were few joins all there are.
    `UPDATE webhook_events
        SET (status, result, processed_at) = (
          SELECT ($2::text[])[n], ($3::text[])[n], now() FROM array_position($1::uuid[], id) AS n)
      WHERE id = ANY ($1::uuid[])`,
    [
      settled.map(({ webhookId }) => webhookId),
      settled.map(({ status }) => status),
      settled.map(({ result }) => result),
    ],
  );
}

/** JSON has no instants: the one that decisions need becomes a Date again. */
export function reviveDates(notice: ProviderNotice): ProviderNotice {
  if (notice.type !== 'payment.succeeded') return notice;
  return { ...notice, money: { ...notice.money, paidAt: new Date(notice.money.paidAt) } };
}
