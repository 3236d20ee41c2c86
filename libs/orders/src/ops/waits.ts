import { STILL_HELD } from '@app/timeout';
import { HAS_OPEN_PAYMENT } from '../order/open-payment';
import type { Queryable } from '../order/order-rows';

interface Wait {
  /** Who has to look after it: the shop's operators, or its merchants. */
  readonly owner: 'operator' | 'merchant';
  /** An interval of Postgres: older than that is an operator's to end. */
  readonly greatestAge: string;
  /** What ends it, by the guard and with an audit. */
  readonly exit: string;
  /** `subject_id` and `since` of each, by an index of what waits: little, whatever there is. */
  readonly sql: string;
}

/** By a value, not an anti-join: that is planned by reading all movements of money. */
const OPEN_DISPUTES = `SELECT m.payment_id, m.at FROM money_movements m WHERE m.kind = 'disputed'
   AND (SELECT e.kind FROM money_movements e WHERE e.payment_id = m.payment_id
           AND e.kind IN ('dispute_won', 'dispute_lost') AND e.ref = m.ref LIMIT 1) IS NULL`;

/**
 * Everything that may wait for a person, and for how long before somebody is told. The runbook has
 * this table with owners and alerts; `invariants.sql` states the ages once more.
 */
export const WAITS = {
  closing: {
    owner: 'operator',
    greatestAge: '5 minutes',
    exit: 'lastcall orders settle ID --closed, or --paid',
    sql: `SELECT o.id AS subject_id, e.at AS since
            FROM (SELECT subject_id FROM deadlines WHERE kind = 'closing'
                  UNION SELECT subject_id FROM held_deadlines WHERE kind = 'closing') AS d
            JOIN orders o ON o.id = d.subject_id AND o.status = 'closing'
            JOIN order_events e ON e.order_id = o.id AND e.version = o.version`,
  },
  // Of an order that is paid, or over, without it: its provider is asked until it is ended.
  payment_unended: {
    owner: 'operator',
    greatestAge: '5 minutes',
    exit: 'lastcall orders settle ID --closed',
    sql: `SELECT o.id AS subject_id, coalesce(o.paid_at, o.closed_at) AS since
            FROM (SELECT subject_id FROM deadlines WHERE kind = 'closing'
                  UNION SELECT subject_id FROM held_deadlines WHERE kind = 'closing') AS d
            JOIN orders o ON o.id = d.subject_id AND o.status NOT IN ('pending_payment', 'closing')
             AND ${HAS_OPEN_PAYMENT}`,
  },
  payment_on_hold: {
    owner: 'operator',
    greatestAge: '0',
    exit: 'lastcall payments settle ID --refund, --keep or --accept, or --correct',
    sql: `SELECT p.id AS subject_id, coalesce(p.recorded_at, p.created_at) AS since
            FROM payments p WHERE p.hold_reason IS NOT NULL`,
  },
  webhook_held: {
    owner: 'operator',
    greatestAge: '0',
    exit: 'lastcall webhooks replay ID, or dismiss ID',
    sql: `SELECT id AS subject_id, received_at AS since FROM webhook_events WHERE status = 'held'`,
  },
  deadline_held: {
    owner: 'operator',
    greatestAge: '0',
    exit: 'lastcall timeouts release ID',
    sql: `SELECT DISTINCT h.subject_id, h.held_at AS since FROM ${STILL_HELD}`,
  },
  // One that waits for the end of a dispute is the dispute's, and ours from that end on.
  refund_unsent: {
    owner: 'operator',
    greatestAge: '5 minutes',
    exit: 'lastcall timeouts verify --fix, and a worker sends it with its next sweep; of a provider that never answers refunds settle ID --as done',
    sql: `SELECT r.id AS subject_id, greatest(r.updated_at, (
                   SELECT max(m.at) FROM money_movements m WHERE m.payment_id = r.payment_id
                      AND m.kind IN ('dispute_won', 'dispute_lost'))) AS since
            FROM refunds r
           WHERE r.status = 'requested' AND r.payment_id NOT IN (
             SELECT payment_id FROM (${OPEN_DISPUTES}) AS open_disputes)`,
  },
  // Banks take days; none takes longer than a week without a word.
  refund_pending: {
    owner: 'operator',
    greatestAge: '7 days',
    exit: 'lastcall reconcile --since 30d --fix (beside hooks: Reconcile.run), once the provider has ended it; a failed one by hand there; of a provider that never answers refunds settle ID --as done',
    sql: `SELECT id AS subject_id, updated_at AS since FROM refunds
           WHERE status IN ('pending', 'failed')`,
  },
  refund_in_attention: {
    owner: 'operator',
    greatestAge: '0',
    exit: 'lastcall refunds retry ID, a refund by hand at the provider, or refunds settle ID --as done',
    sql: `SELECT id AS subject_id, updated_at AS since FROM refunds
           WHERE status = 'needs_attention'`,
  },
  dispute: {
    owner: 'merchant',
    greatestAge: '0',
    exit: "the bank's decision: its notice, or lastcall reconcile --since 90d --fix (beside hooks: Reconcile.run)",
    sql: `SELECT payment_id AS subject_id, min(at) AS since FROM (${OPEN_DISPUTES}) AS open_disputes
           GROUP BY payment_id`,
  },
  webhook_endpoint_off: {
    owner: 'merchant',
    greatestAge: '0',
    exit: 'lastcall webhook-endpoints enable ID, or delete ID',
    sql: `SELECT id AS subject_id, status_at AS since FROM webhook_endpoints WHERE status = 'off'`,
  },
  // By endpoint: of one that has failed for days there are many.
  delivery_dead: {
    owner: 'merchant',
    greatestAge: '0',
    exit: 'lastcall webhook-endpoints redeliver ID',
    sql: `SELECT e.id AS subject_id, d.settled_at AS since FROM webhook_endpoints e,
                 LATERAL (SELECT settled_at FROM webhook_deliveries d
                           WHERE d.endpoint_id = e.id AND d.status = 'dead'
                           ORDER BY settled_at LIMIT 1) AS d
           WHERE e.status <> 'deleted'`,
  },
} as const satisfies Readonly<Record<string, Wait>>;

export type WaitName = keyof typeof WAITS;

export const WAIT_NAMES = Object.keys(WAITS) as WaitName[];

/** What waits: what, subject_id, since and is_too_old, as SQL; of each kind so many, the oldest. */
export function waitsAsSql(mostOfEach?: number): string {
  const oldest = mostOfEach === undefined ? '' : `ORDER BY since LIMIT ${mostOfEach}`;
  return WAIT_NAMES.map((what) => {
    const { greatestAge, sql }: Wait = WAITS[what];
    return `(SELECT '${what}' AS what, subject_id, since,
                    since < now() - interval '${greatestAge}' AS is_too_old
               FROM (${sql}) AS ${what} ${oldest})`;
  }).join(' UNION ALL ');
}

/** Everything that waits. */
export const ALL_WAITS = waitsAsSql();

export interface WaitReading {
  readonly count: number;
  /** How many are older than their greatest age. */
  readonly tooOld: number;
  /** Age of the oldest; 0 when none waits. */
  readonly oldestSeconds: number;
}

export type WaitReadings = Readonly<Record<WaitName, WaitReading>>;

/** What waits for a person, or may come to. */
export async function readWaits(sql: Queryable): Promise<WaitReadings> {
  const rows = await sql.rows<{ what: WaitName; count: number; too_old: number; age: string }>(
    `SELECT what, count(*)::int AS count, count(*) FILTER (WHERE is_too_old)::int AS too_old,
            extract(epoch FROM now() - min(since)) AS age
       FROM (${ALL_WAITS}) AS waits GROUP BY what`,
  );
  const byName = new Map(rows.map((row) => [row.what, row]));
  return Object.fromEntries(
    WAIT_NAMES.map((what) => {
      const { count = 0, too_old: tooOld = 0, age = '0' } = byName.get(what) ?? {};
      return [what, { count, tooOld, oldestSeconds: Math.max(0, Number(age)) }];
    }),
  ) as WaitReadings;
}
