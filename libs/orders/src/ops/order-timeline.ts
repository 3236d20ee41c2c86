import { ISO } from '../order/order-rows';
import type { Queryable } from '../order/order-rows';
import type { OrderEventView } from '../events/read-history';

/** One thing that happened to an order, its payments or their money; or that will, when it is due. */
export interface TimelineEntry {
  readonly at: string;
  /** `deadline`: is due then. `held`: is set aside since then, for an operator. */
  readonly kind: 'order' | 'payment' | 'money' | 'webhook' | 'operator' | 'deadline' | 'held';
  /** As `order.paid`, `payment.opened`, `money.captured`, `webhook.payment.succeeded`. */
  readonly what: string;
  /** Whose doing it was: `timer`, `provider`, `operator`, `webhook`, ... */
  readonly by: string | null;
  /** Who, where it was a person or a program with a name. */
  readonly actor: string | null;
  /** Why, or what came of it. */
  readonly reason: string | null;
  /** What it is about: the id of a payment, a refund or a webhook; the order's own is not repeated. */
  readonly subjectId: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
}

/** More than any order has that is not under attack; the newest are told. */
const MAX_OF_EACH = 500;

/** What payments, money, webhooks and operators did; the order's own history is read elsewhere. */
export async function readHappenings(sql: Queryable, orderId: string): Promise<TimelineEntry[]> {
  const rows = await sql.rows<{ entries: TimelineEntry[] | null }>(HAPPENINGS, [orderId]);
  return rows.flatMap(({ entries }) => entries ?? []);
}

/**
 * The events of one order, in the order of their versions. Each says when its transaction began, which
 * may be before it had waited for the change before: none is told for earlier than that.
 */
export function ofHistory(events: readonly OrderEventView[]): TimelineEntry[] {
  let latest = '';
  return events.map(({ at, type: what, by, actor, reason }) => {
    if (at > latest) latest = at;
    return { ...NOTHING, at: latest, kind: 'order', what, by, actor, reason };
  });
}

export function ofDeadline(deadline: {
  readonly kind: string;
  readonly dueAt: string;
}): TimelineEntry {
  return {
    ...NOTHING,
    ...{ at: deadline.dueAt, kind: 'deadline', what: `deadline.${deadline.kind}`, by: 'timer' },
  };
}

export function ofHeld(held: {
  readonly kind: string;
  readonly heldAt: Date | string;
  readonly error: string | null;
}): TimelineEntry {
  const at = new Date(held.heldAt).toISOString();
  return { ...NOTHING, at, kind: 'held', what: `deadline.${held.kind}`, reason: held.error };
}

/** Oldest first; what happened in the same instant in the order it was given. */
export function inOrderOfTime(entries: readonly TimelineEntry[]): TimelineEntry[] {
  return [...entries].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

const NOTHING = {
  by: null,
  actor: null,
  reason: null,
  subjectId: null,
  amount: null,
  currency: null,
} as const;

/** One row a source. */
const source = (kind: TimelineEntry['kind'], from: string, fields: Partial<Fields>): string => {
  const { at, what, by = 'NULL', actor = 'NULL', reason = 'NULL', subject = 'NULL' } = fields;
  const { amount = 'NULL', currency = 'NULL' } = fields;
  return `
  SELECT json_agg(json_build_object(
           'at', ${ISO('at')}, 'kind', '${kind}', 'what', what, 'by', by, 'actor', actor,
           'reason', reason, 'subjectId', subject, 'amount', amount, 'currency', currency)
           ORDER BY at) AS entries
    FROM (SELECT ${at} AS at, ${what} AS what, ${by}::text AS by, ${actor}::text AS actor,
                 ${reason}::text AS reason, ${subject}::text AS subject,
                 ${amount}::int8 AS amount, ${currency}::text AS currency
            FROM ${from} ORDER BY 1 DESC LIMIT ${MAX_OF_EACH}) AS newest`;
};

interface Fields {
  readonly at: string;
  readonly what: string;
  readonly by: string;
  readonly actor: string;
  readonly reason: string;
  readonly subject: string;
  readonly amount: string;
  readonly currency: string;
}

/** By the keys of the order's payments, each list through its index. */
const PAYMENTS = 'ARRAY(SELECT id FROM payments WHERE order_id = $1)';
/** Of another amount that a provider tells of it is that; else of the payment's money, once there is some. */
const OF_WHAT_WAS_TAKEN = `CASE kind WHEN 'mismatch' THEN currency ELSE coalesce(
  (SELECT captured_currency FROM payments WHERE id = payment_id), currency) END`;
const HAPPENINGS = [
  source('payment', 'payments WHERE order_id = $1', {
    ...{ at: 'created_at', what: `'payment.opened'`, by: `'customer'`, reason: 'failure' },
    ...{ subject: 'id', amount: 'amount', currency: 'currency' },
  }),
  source('money', 'money_movements WHERE order_id = $1', {
    ...{ at: 'at', what: `'money.' || kind`, by: 'source', reason: 'reason' },
    ...{ subject: 'payment_id', amount: 'amount', currency: OF_WHAT_WAS_TAKEN },
  }),
  source('webhook', `webhook_events WHERE notice ->> 'paymentId' = ANY (${PAYMENTS}::text[])`, {
    ...{ at: 'received_at', what: `'webhook.' || (notice ->> 'type')`, by: 'provider' },
    ...{ reason: `status || coalesce(': ' || result, '')`, subject: 'id' },
  }),
  source(
    'operator',
    `operator_actions WHERE subject_id = ANY (
       ARRAY(SELECT id FROM payments WHERE order_id = $1
             UNION ALL SELECT r.id FROM refunds r WHERE r.payment_id = ANY (${PAYMENTS})
             UNION ALL SELECT w.id FROM webhook_events w
                        WHERE w.notice ->> 'paymentId' = ANY (${PAYMENTS}::text[])
             UNION ALL SELECT $1::uuid))`,
    {
      at: 'at',
      what: `'operator.' || action`,
      by: `'operator'`,
      actor: 'actor',
      reason: 'reason',
      subject: 'subject_id',
    },
  ),
].join('\n UNION ALL ');
