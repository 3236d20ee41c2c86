import type { Queryable } from '../order/order-rows';

export const WEBHOOK_STATUSES = ['received', 'processed', 'held'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

export interface WebhookEntry {
  readonly id: string;
  readonly provider: string;
  readonly eventId: string;
  readonly type: string;
  /** Our payment's id, as the notice names it. */
  readonly paymentId: string | null;
  readonly status: WebhookStatus;
  /** What became of it, or why it is held. */
  readonly result: string | null;
  readonly receivedAt: string;
  readonly processedAt: string | null;
}

/** As SQL: a row of `webhook_events` as an entry. */
export const ENTRY = `id, provider, event_id AS "eventId", notice->>'type' AS type,
  notice->>'paymentId' AS "paymentId", status, result, received_at AS "receivedAt",
  processed_at AS "processedAt"`;

/** What told of these payments, newest first; all of it without a limit. */
export function webhooksOf(
  sql: Queryable,
  paymentIds: readonly string[],
  limit: number | null,
): Promise<WebhookEntry[]> {
  return sql.rows<WebhookEntry>(
    `SELECT ${ENTRY} FROM webhook_events WHERE notice ->> 'paymentId' = ANY ($1::text[])
      ORDER BY received_at DESC, id DESC LIMIT $2`,
    [paymentIds, limit],
  );
}
