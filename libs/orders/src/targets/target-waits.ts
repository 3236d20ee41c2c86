import { NO_ID } from './target-payments';
import { BY_HAND } from './target-refund.judgement';
import { inMs, type TargetSql } from './target-sql';

/**
 * How a person ends a wait. Of an order behind the fence: `closed` or `paid`, as its provider's own pages
 * say; of a paid order's other payment: `closed`. Of a refund: `retry` while no attempt stands as made, which
 * goes on with one that was sent and has not ended, or `done` where the money is back; of one that was made
 * twice: `dismiss`. Of a webhook: `replay` or `dismiss`. Of money on hold: `refund` or `keep`. Of a deadline
 * whose handler kept failing: `release`.
 */
export type TargetExit =
  'closed' | 'paid' | 'retry' | 'done' | 'replay' | 'dismiss' | 'refund' | 'keep' | 'release';

interface WaitKind {
  /** What its ids begin with. */
  readonly prefix: string;
  /** In an operator's words. */
  readonly title: string;
  /** Of one of them some may lead nowhere: `lacks`. */
  readonly exits: readonly TargetExit[];
  /**
   * `ref` (text[]), `kind`, `subject`, `amount`, `currency`, `detail`, `since`, `is_overdue` of each, and `lacks`: which
   * of the exits it does not have (NULL: it has all).
   */
  readonly sql: (table: (name: string) => string) => string;
}

/**
 * SQL: the attempts of a row of `target_refunds` that stand as made, in an operator's words; null where none
 * does. A condition on `one` leaves some out.
 */
export const attemptsMade = (condition = 'true'): string => `(
  SELECT string_agg(concat(CASE one ->> 'attempt' WHEN '${BY_HAND}' THEN 'it was made by hand'
                             ELSE concat('attempt ', one ->> 'attempt', ' was made', ' as ' || (one ->> 'providerRefundId')) END,
                           CASE WHEN (one -> 'isDismissed')::boolean THEN ' and dismissed' END), ', ')
    FROM jsonb_array_elements(made) AS one WHERE NOT (one -> 'hasFailed')::boolean AND ${condition})`;

/** SQL: while it is not null, a refund that was sent once more would go back twice. */
export const ATTEMPTS_IN_THE_WAY = attemptsMade(`NOT (one -> 'isDismissed')::boolean`);

/** SQL: the detail of a refund that was made twice: as what its attempts that stand are made. */
export const MADE_AS = `concat(reason, ': made as ', (
  SELECT string_agg(coalesce(one ->> 'providerRefundId', 'one of no known id'), ', ')
    FROM jsonb_array_elements(made) AS one WHERE NOT (one -> 'hasFailed')::boolean))`;

/** SQL: the attempt of a row of `target_refunds` was sent, and may be made still: none may be sent beside it. */
export const HAS_NOT_ENDED = 'asked > 0';

const NO_EXIT_LACKS = 'NULL::text AS lacks';

/** What may wait for a person where orders are in a table of a shop's own. */
export const TARGET_WAITS = {
  order_closing: {
    prefix: 'order',
    title: 'orders that wait for their provider',
    exits: ['closed', 'paid'],
    sql: (table) => `
      SELECT ARRAY[kind, order_id] AS ref, kind, order_id AS subject, NULL::text AS amount, NULL::text AS currency,
             concat(reason, ', asked ', attempts, ' times', ', told to be ' || told, ': ' || error) AS detail,
             changed_at AS since, changed_at < now() - interval '5 minutes' AS is_overdue, ${NO_EXIT_LACKS}
        FROM ${table('target_orders')} WHERE status = 'closing'`,
  },
  // Those that are asked about still: found by their deadlines, kind by kind, as nearly all that was paid is over.
  payment_unended: {
    prefix: 'order',
    title: 'paid orders with another payment that its provider has not ended',
    exits: ['closed'],
    sql: (table) => `
      WITH RECURSIVE kinds AS (
        SELECT min(kind) AS kind FROM ${table('target_orders')}
        UNION ALL
        SELECT (SELECT min(kind) FROM ${table('target_orders')} WHERE kind > before.kind)
          FROM kinds AS before WHERE before.kind IS NOT NULL)
      SELECT ARRAY[o.kind, order_id] AS ref, o.kind, order_id AS subject, NULL::text AS amount, NULL::text AS currency,
             concat('paid by another payment, asked ', attempts, ' times', ', told to be ' || told, ': ' || error) AS detail,
             changed_at AS since, changed_at < now() - interval '5 minutes' AS is_overdue, ${NO_EXIT_LACKS}
        FROM kinds, LATERAL (
          SELECT subject FROM ${table('timeout_subjects')} WHERE kind = kinds.kind || '.closing' OFFSET 0) AS asked, LATERAL (
          SELECT * FROM ${table('target_orders')} WHERE kind = kinds.kind AND order_id = asked.subject OFFSET 0) AS o
       WHERE status = 'paid' AND attempts > 0`,
  },
  refund_in_attention: {
    prefix: 'refund',
    title: 'refunds that need attention',
    exits: ['retry', 'done'],
    sql: (table) => `
      SELECT ARRAY[id::text] AS ref, kind, order_id AS subject, amount::text, currency,
             concat_ws('; ', concat_ws(': ', reason, error), ${attemptsMade()},
               CASE WHEN ${HAS_NOT_ENDED} THEN concat('attempt ', attempt, ' was sent, and its provider has told no end of it') END
             ) AS detail, updated_at AS since, true AS is_overdue,
             CASE WHEN ${ATTEMPTS_IN_THE_WAY} IS NOT NULL THEN 'retry' END AS lacks
        FROM ${table('target_refunds')} WHERE status <> 'succeeded' AND status = 'needs_attention'`,
  },
  // Banks take days; a provider that has not even taken it for an hour is away.
  refund_unfinished: {
    prefix: 'refund',
    title: 'refunds under way',
    exits: ['done'],
    sql: (table) => `
      SELECT ARRAY[id::text] AS ref, kind, order_id AS subject, amount::text, currency,
             concat_ws('; ', concat_ws(': ', reason, status, error), ${attemptsMade()}) AS detail, created_at AS since,
             created_at < now() - CASE status WHEN 'requested' THEN interval '1 hour'
                                               ELSE interval '7 days' END AS is_overdue, ${NO_EXIT_LACKS}
        FROM ${table('target_refunds')} WHERE status <> 'succeeded' AND status <> 'needs_attention'`,
  },
  refund_twice: {
    prefix: 'refund',
    title: 'refunds that were made twice',
    exits: ['dismiss'],
    sql: (table) => `
      SELECT ARRAY[id::text] AS ref, kind, order_id AS subject, amount::text, currency,
             ${MADE_AS} AS detail, made_twice_at AS since, true AS is_overdue, ${NO_EXIT_LACKS}
        FROM ${table('target_refunds')} WHERE made_twice_at IS NOT NULL`,
  },
  // One that tells of money on hold is ended with that; of money that was another amount before, none is.
  webhook_held: {
    prefix: 'webhook',
    title: 'held webhooks',
    exits: ['replay', 'dismiss'],
    sql: (table) => `
      SELECT ARRAY[id::text] AS ref, NULL::text AS kind, notice ->> 'paymentId' AS subject,
             notice -> 'money' ->> 'amount' AS amount, notice -> 'money' ->> 'currency' AS currency,
             concat_ws(' ', provider, notice ->> 'type', result) AS detail, received_at AS since,
             true AS is_overdue, ${NO_EXIT_LACKS}
        FROM ${table('target_webhooks')} w
       WHERE status = 'held' AND NOT (result = 'money_on_hold' AND EXISTS (
         SELECT FROM ${table('target_payments')} p
          WHERE p.verdict = 'hold' AND p.provider = w.provider AND p.payment_id = notice ->> 'paymentId'
            AND p.provider_payment_id = notice ->> 'providerPaymentId'
            AND p.amount::text = notice -> 'money' ->> 'amount'
            AND p.currency = notice -> 'money' ->> 'currency'))`,
  },
  money_on_hold: {
    prefix: 'money',
    title: 'money on hold',
    exits: ['refund', 'keep'],
    sql: (table) => `
      SELECT ARRAY[provider, payment_id, provider_payment_id] AS ref, kind, order_id AS subject, amount::text,
             currency, hold_reason AS detail, recorded_at AS since, true AS is_overdue,
             CASE WHEN provider_payment_id = '${NO_ID}' OR amount = 0 THEN 'refund' END AS lacks
        FROM ${table('target_payments')} WHERE verdict = 'hold'`,
  },
  deadline_held: {
    prefix: 'deadline',
    title: 'held deadlines',
    exits: ['release'],
    sql: (table) => `
      SELECT ARRAY[h.subject_id::text] AS ref, s.kind, s.subject, NULL::text AS amount, NULL::text AS currency,
             h.error AS detail, h.held_at AS since, true AS is_overdue, ${NO_EXIT_LACKS}
        FROM ${table('held_deadlines')} h JOIN ${table('timeout_subjects')} s ON s.id = h.subject_id`,
  },
} as const satisfies Readonly<Record<string, WaitKind>>;

export type TargetWaitName = keyof typeof TARGET_WAITS;

const NAMES = Object.keys(TARGET_WAITS) as TargetWaitName[];

/** What such a wait may be ended by. */
export const exitsOf = (what: TargetWaitName): readonly TargetExit[] => TARGET_WAITS[what].exits;

/** Something that waits for a person, or may come to. */
export interface TargetWait {
  /** What `settle` and `lastcall targets settle` take. */
  readonly id: string;
  readonly what: TargetWaitName;
  /** Of the close target or deadline; null where nobody knows what it is about. */
  readonly kind: string | null;
  /** The order's or subject's id; of a webhook about a payment of nobody, that payment's. */
  readonly subject: string | null;
  /** In minor units; null where it is about no money. */
  readonly amount: number | null;
  readonly currency: string | null;
  readonly detail: string;
  readonly since: Date;
  /** True when it has waited for longer than it should, so that somebody has to end it. */
  readonly isOverdue: boolean;
  /** What it can be ended by as it is now. */
  readonly exits: readonly TargetExit[];
}

interface Row {
  readonly what: TargetWaitName;
  readonly ref: readonly string[];
  readonly kind: string | null;
  readonly subject: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
  readonly detail: string;
  readonly since_ms: string;
  readonly is_overdue: boolean;
  readonly lacks: string | null;
}

const COLUMNS = `what, ref, kind, subject, amount, currency, detail, ${inMs('since')} AS since_ms, is_overdue, lacks`;

const waitsAsSql = (schema: string, tail: string): string =>
  NAMES.map((what) => {
    const sql = TARGET_WAITS[what].sql((name) => `"${schema}".${name}`);
    return `(SELECT '${what}' AS what, * FROM (${sql}) AS ${what} ${tail})`;
  }).join(' UNION ALL ');

/** What waits longest comes first; of each kind those that have waited for too long, then the oldest. */
export async function listTargetWaits(
  sql: TargetSql,
  schema: string,
  mostOfEach: number,
): Promise<TargetWait[]> {
  const rows = await sql.query<Row>(
    `SELECT ${COLUMNS} FROM (${waitsAsSql(schema, `ORDER BY is_overdue DESC, since LIMIT ${mostOfEach}`)}) AS waits ORDER BY since`,
  );
  return rows.map(fromRow);
}

/** How many of each wait, and how many of these for too long. */
export function countTargetWaits(
  sql: TargetSql,
  schema: string,
): Promise<{ what: TargetWaitName; count: number; overdue: number; oldest: Date }[]> {
  return sql.query(
    `SELECT what, count(*)::int AS count, count(*) FILTER (WHERE is_overdue)::int AS overdue,
            min(since) AS oldest FROM (${waitsAsSql(schema, '')}) AS waits GROUP BY what`,
  );
}

/** The wait of this id, if it waits still: of several the one that has this exit. */
export async function findTargetWait(
  sql: TargetSql,
  schema: string,
  id: string,
  exit: TargetExit,
): Promise<{ wait: TargetWait; ref: readonly string[] } | undefined> {
  const { prefix, ref } = parseId(id);
  const hasExit = (what: TargetWaitName): boolean => exitsOf(what).includes(exit);
  const asked = NAMES.filter((what) => TARGET_WAITS[what].prefix === prefix).sort(
    (a, b) => Number(hasExit(b)) - Number(hasExit(a)),
  );
  for (const what of asked) {
    const from = TARGET_WAITS[what].sql((name) => `"${schema}".${name}`);
    const [row] = await sql.query<Row>(
      `SELECT ${COLUMNS} FROM (SELECT '${what}' AS what, * FROM (${from}) AS ${what}) AS waits WHERE ref = $1::text[]`,
      [ref],
    );
    if (row) return { wait: fromRow(row), ref };
  }
  return undefined;
}

const fromRow = (found: Row): TargetWait => {
  const { what, ref, is_overdue: isOverdue, amount, lacks, since_ms: sinceMs, ...row } = found;
  const since = new Date(Number(sinceMs));
  const { prefix } = TARGET_WAITS[what];
  const exits = exitsOf(what).filter((exit) => exit !== lacks);
  const id = `${prefix}:${ref.map(encodeURIComponent).join('/')}`;
  const money = amount === null ? null : Number(amount);
  return { id, what, ...row, since, amount: money, isOverdue, exits };
};

function parseId(id: string): { prefix: string; ref: string[] } {
  const [, prefix = '', rest = ''] = /^([a-z]+):(.+)$/.exec(id) ?? [];
  try {
    return { prefix, ref: rest.split('/').map(decodeURIComponent) };
  } catch {
    return { prefix: '', ref: [] };
  }
}
