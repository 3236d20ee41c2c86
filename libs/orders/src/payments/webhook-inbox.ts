import type { Transaction } from '@app/timeout';
import { v7 as uuidv7 } from 'uuid';
import type { ApplyNotices, NoticeResult } from './apply-notices';
import type { ProviderNotice } from '../providers/payment-provider';

/** A stored webhook that has not been applied. */
export interface StoredNotice {
  readonly inboxId: string;
  readonly notice: ProviderNotice;
}

/**
 * Stores notices, unique by provider and event id. Answers with those that still have to be
 * applied; one that was stored before and is settled, or in other hands, is not among them.
 */
export async function storeNotices(
  tx: Transaction,
  provider: string,
  notices: readonly ProviderNotice[],
): Promise<StoredNotice[]> {
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
    inboxId: row.id,
    notice: byEvent.get(row.event_id) as ProviderNotice,
  }));
}

/** Reads stored notices that wait to be applied and locks their rows. */
export async function takeReceived(
  tx: Transaction,
  inboxIds: readonly string[],
): Promise<StoredNotice[]> {
  const rows = await tx.rows<{ id: string; notice: ProviderNotice }>(
    `SELECT id, notice FROM webhook_events
      WHERE id = ANY ($1::uuid[]) AND status = 'received' FOR NO KEY UPDATE SKIP LOCKED`,
    [inboxIds],
  );
  return rows.map((row) => ({ inboxId: row.id, notice: reviveDates(row.notice) }));
}

/** Applies stored notices and writes what became of each beside it. */
export async function applyStored(
  tx: Transaction,
  applying: ApplyNotices,
  stored: readonly StoredNotice[],
): Promise<NoticeResult[]> {
  if (stored.length === 0) return [];
  const results = await applying.apply(
    tx,
    stored.map(({ notice }) => notice),
  );
  await tx.hot(
    `UPDATE webhook_events w SET status = r.status, result = r.result, processed_at = now()
       FROM unnest($1::uuid[], $2::text[], $3::text[]) AS r (id, status, result)
      WHERE w.id = r.id`,
    [
      stored.map(({ inboxId }) => inboxId),
      results.map(({ status }) => status),
      results.map(({ result }) => result),
    ],
  );
  return results;
}

/** JSON has no instants: the one that decisions need becomes a Date again. */
function reviveDates(notice: ProviderNotice): ProviderNotice {
  if (notice.type !== 'payment.succeeded') return notice;
  return { ...notice, money: { ...notice.money, paidAt: new Date(notice.money.paidAt) } };
}
