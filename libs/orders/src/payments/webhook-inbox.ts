import type { Transaction } from '@app/timeout';
import { uuidv7 } from '../order/uuid';
import type { ProviderNotice } from '../providers/payment-provider';
import { withOwnId } from './own-id';

/** A notice, and who sent it: a provider may speak of its own payments only. */
export interface SentNotice {
  readonly provider: string;
  readonly notice: ProviderNotice;
}

/** A webhook that is stored: our id of it, and the notice it brought. */
export interface StoredWebhook extends SentNotice {
  readonly webhookId: string;
}

/**
 * What became of a webhook; `held` waits for an operator, for the reason given. `received`: nothing
 * has been done yet, as somebody holds what it needs; it has to be applied again.
 */
export interface WebhookOutcome {
  readonly status: 'processed' | 'held' | 'received';
  readonly result: string | null;
}

/** Of what may not be applied now. */
export const NOT_YET: WebhookOutcome = { status: 'received', result: null };

/**
 * Those of a provider's notices that no webhook has brought before, each once. In one order whoever is
 * told of them: two that apply the same ones at once wait for each other in one direction only.
 */
export async function unknownAmong(
  tx: Transaction,
  provider: string,
  notices: readonly ProviderNotice[],
): Promise<ProviderNotice[]> {
  const rows = await tx.hot<{ event_id: string }>(
    'SELECT event_id FROM webhook_events WHERE provider = $1 AND event_id = ANY ($2::text[])',
    [provider, notices.map(({ eventId }) => eventId)],
  );
  const known = new Set(rows.map(({ event_id: eventId }) => eventId));
  const fresh = notices.filter(({ eventId }) => {
    const isNew = !known.has(eventId);
    known.add(eventId);
    return isNew;
  });
  return fresh.sort((a, b) => (a.eventId < b.eventId ? -1 : 1));
}

/**
 * Stores webhooks with what became of their notices, unique by provider and the provider's id: one row
 * written once. Answers with our ids of those that are new, by the provider's. What another request
 * has stored meanwhile and not applied is settled by this one.
 */
export async function storeWebhooks(
  tx: Transaction,
  provider: string,
  taken: readonly { readonly notice: ProviderNotice; readonly outcome: WebhookOutcome }[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.hot<{ id: string; event_id: string }>(
    `INSERT INTO webhook_events AS stored (id, provider, event_id, notice, status, result, processed_at)
     SELECT id, $2, event_id, notice, status, result, CASE WHEN status <> 'received' THEN now() END
       FROM unnest($1::uuid[], $3::text[], $4::jsonb[], $5::text[], $6::text[])
         AS n (id, event_id, notice, status, result) ORDER BY event_id
     ON CONFLICT (provider, event_id) DO UPDATE
        SET status = excluded.status, result = excluded.result, processed_at = excluded.processed_at
      WHERE stored.status = 'received' AND excluded.status <> 'received'
     RETURNING id, event_id`,
    [
      taken.map(() => uuidv7()),
      provider,
      taken.map(({ notice }) => notice.eventId),
      taken.map(({ notice }) => JSON.stringify(notice)),
      taken.map(({ outcome }) => outcome.status),
      taken.map(({ outcome }) => outcome.result),
    ],
  );
  return new Map(rows.map((row) => [row.event_id, row.id]));
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
    // A version that stored it may have left its id as it was told.
    notice: withOwnId(reviveDates(row.notice)),
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
