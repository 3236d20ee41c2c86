import { isFar, type Transaction, Uuids } from '@app/timeout';
import { type ChangedColumns, ChangedOrders, type CountedColumns } from './changed-orders';
import { deadlineOf, isOverdue, TIMED_KINDS } from './deadline-table';
import { EVENT_AT, EVENT_TX, NEW_EVENT_TX } from './event-tx';
import { HAS_OPEN_PAYMENT } from './open-payment';
import {
  type By,
  type CloseReason,
  type OrderStatus,
  stockEffect,
  type StockEffect,
} from './order.lifecycle';

/** A change of status for a set of orders, each of which must still be in `from`. */
export interface StatusChange {
  readonly from: OrderStatus;
  readonly to: OrderStatus;
  readonly orderIds: readonly string[];
  readonly by: By;
  /** Who, where somebody did it: a token's subject. Required of operators. */
  readonly actor?: string | undefined;
  /** Why, for the history. Required of operators. */
  readonly reason?: string | undefined;
  /** Set for `closed`, `canceled` and `closing` (where it says what the close is for). */
  readonly closeReason?: CloseReason | undefined;
  /** True for timeouts: changes nothing that is not overdue by the database's clock. */
  readonly onlyIfOverdue?: boolean;
  /** True where an order with a payment open at the provider must be left as it is. */
  readonly onlyIfNoPaymentOpen?: boolean;
  /**
   * The same for any payment there ever was. Unlike those that are open, one that is begun while the
   * change waits for the order's row is seen: the rows need not be locked before.
   */
  readonly onlyIfNoPayments?: boolean;
}

/** The same for ids that nobody has to take apart. */
export interface ChangeOfMany extends Omit<StatusChange, 'orderIds'> {
  readonly orderIds: Uuids;
  /** True where nobody needs to know which orders have changed, as long as no deadline follows. */
  readonly isCounted?: boolean;
}

/**
 * The instant column that a status sets, and what entering it clears. Now is when the transaction began,
 * which may be before that of the change before it: it has waited for the order's row.
 */
const INSTANTS: Partial<Record<OrderStatus, string>> = {
  paid: 'paid_at = now(), closed_at = NULL',
  shipped: 'shipped_at = greatest(now(), paid_at)',
  completed: 'completed_at = greatest(now(), shipped_at)',
  closed: 'closed_at = now()',
  canceled: 'canceled_at = greatest(now(), paid_at)',
};

const MS = (at: string): string => `round(date_part('epoch', ${at}) * 1000)::bigint`;

/** Reading a row costs Node and Postgres more than the values of a row in a long text. */
const COLUMN = (value: string): string => `string_agg(coalesce((${value})::text, ''), ',')`;

/** Read from each instant at which some were due, or said of the one at which all were. */
const BY_INSTANT = (each: string, ofAll: string): string =>
  `CASE WHEN first_due < last_due THEN (SELECT ${each} FROM same) ELSE ${ofAll} END`;

/**
 * The update of the guard (order-guard.ts), which alone calls it: the rows of orders, their history,
 * their next deadlines, and the movements of their stock. Conditional on the status, and for
 * timeouts on the deadline: orders that are not in the answer were somebody else's, which is an
 * outcome and not an error.
 */
export async function changeStatus(tx: Transaction, change: ChangeOfMany): Promise<ChangedOrders> {
  if (change.orderIds.count === 0) return ChangedOrders.none;
  const effect = stockEffect(change.from, change.to);
  if (effect === undefined) {
    throw new Error(`The lifecycle has no change from ${change.from} to ${change.to}`);
  }
  const kind = deadlineOf(change.to)?.kind;
  const isCounted = change.isCounted === true && kind === undefined;
  const [columns] = await tx.hot<unknown>(statementFor(change, effect, isCounted), [
    change.orderIds.array,
    change.from,
    change.to,
    change.closeReason ?? null,
    change.by,
    change.actor ?? null,
    change.reason ?? change.closeReason ?? null,
  ]);
  return isCounted
    ? ChangedOrders.counted(columns as CountedColumns)
    : ChangedOrders.read(columns as ChangedColumns, kind);
}

function statementFor(change: ChangeOfMany, effect: StockEffect, isCounted: boolean): string {
  const { from, to, by, onlyIfOverdue, onlyIfNoPaymentOpen, onlyIfNoPayments } = change;
  const deadline = deadlineOf(to);
  const before = deadlineOf(from);
  // Whoever acts on a deadline has claimed it: it is gone already.
  const isClaimed = by === 'timer' || by === 'sweep';
  const over = before && !isClaimed && TIMED.includes(before.kind) ? before : undefined;
  const instant = INSTANTS[to];
  // What is overdue was so before now, and its deadline came after all that has happened to it.
  const at = onlyIfOverdue ? 'now()' : EVENT_AT;
  return `
    WITH changed AS (
      UPDATE orders o SET status = $3, version = version + 1, close_reason = $4,
             event_tx = ${EVENT_TX}
             ${instant ? `, ${instant}` : ''}
       WHERE id = ANY ($1::uuid[]) AND status = $2
             ${onlyIfOverdue ? `AND ${isOverdue(from)}` : ''}
             ${onlyIfNoPayments ? 'AND NOT has_payments' : ''}
             ${onlyIfNoPaymentOpen ? `AND NOT ${HAS_OPEN_PAYMENT}` : ''}
      RETURNING id, version, closes_at, event_tx${deadline ? `, ${deadline.dueAt} AS due_at` : ''}${over ? `, ${over.dueAt} AS over_at` : ''}
    ), history AS (
      INSERT INTO order_events
             (order_id, version, type, from_status, to_status, by, actor, reason, tx, at)
      SELECT id, version, 'order.${to}', $2, $3, $5, $6, $7, event_tx, ${at} FROM changed
    )${deadline ? DEADLINE_SQL(deadline.kind) : ''}${over ? OVER_SQL(over.kind) : ''}${
      effect === 'none' ? '' : MOVEMENTS_SQL(effect)
    }
    ${isCounted ? COUNTED : EACH_OF(deadline !== undefined)}`;
}

const EACH_OF = (hasDeadline: boolean): string => `
    SELECT count(*)::int AS n, array_send(array_agg(id)) AS ids, ${COLUMN('version')} AS versions,
           ${COLUMN(MS('closes_at'))} AS closes_at, ${MS('now()')} AS changed_at
           ${hasDeadline ? `, ${COLUMN(MS('due_at'))} AS due_at` : ''}
      FROM changed`;

/** Ids would be written down, sent and read for nobody; nor is anything sorted where all were due at once. */
const COUNTED = `, span AS MATERIALIZED (
      SELECT count(*)::int AS n, count(closes_at) AS due, min(closes_at) AS first_due,
             max(closes_at) AS last_due FROM changed
    ), same AS MATERIALIZED (SELECT closes_at, count(*) AS n FROM changed GROUP BY closes_at)
    SELECT n, ${MS('now()')} AS changed_at,
           ${BY_INSTANT(COLUMN('n'), 'due::text')} AS counts,
           ${BY_INSTANT(COLUMN(MS('closes_at')), `(${MS('first_due')})::text`)} AS closes_at
      FROM span`;

/** Kinds whose deadline's instant is known from the order's row. */
const TIMED: readonly string[] = TIMED_KINDS;

/**
 * The deadline of the status that is over goes with it, so that far ones do not pile up for weeks.
 * A closer takes the deadline first and the order second: so nobody here waits for a deadline,
 * and one that somebody is claiming stays: it fires, changes nothing and is gone.
 */
const OVER_SQL = (kind: string): string => `, over AS MATERIALIZED (
      SELECT d.*
        FROM changed, LATERAL (
          SELECT ctid AS place, due_at, subject_id, far FROM deadlines
           WHERE kind = '${kind}' AND due_at = changed.over_at AND subject_id = changed.id
             FOR UPDATE SKIP LOCKED) AS d
    ), gone AS (
      DELETE FROM deadlines WHERE ctid = ANY (ARRAY(SELECT place FROM over))
         AND CASE WHEN kind = '${kind}'
                  THEN (due_at, subject_id, far) IN (SELECT due_at, subject_id, far FROM over) END
    )`;

const DEADLINE_SQL = (kind: string): string => `, armed AS (
      INSERT INTO deadlines (kind, due_at, subject_id, version, far)
      SELECT '${kind}', due_at, id, version, ${isFar('due_at')} FROM changed WHERE due_at IS NOT NULL
      ON CONFLICT DO NOTHING
    )`;

/** Of a line; what came back before the order was canceled (stock/restock.ts) is in stock already. */
const QUANTITY = {
  release: 'i.quantity',
  sell: 'i.quantity',
  restock: `i.quantity - coalesce((SELECT sum(r.quantity) FROM order_returns r
                                    WHERE r.order_id = i.order_id AND r.sku = i.sku), 0)`,
} as const satisfies Record<Exclude<StockEffect, 'none'>, string>;

/**
 * The stock of these orders' lines, summed per SKU, under the tx of their events: appended here and
 * folded into the products later, so that a change of status waits for no product and holds none.
 * That tx is this transaction's nearly always: their lines are asked for by one array and never
 * joined. The few others had an event before that was committed under a greater one. In the order of
 * their SKUs, so that those that are folded together are neighbours in every table and index.
 */
const MOVEMENTS_SQL = (effect: Exclude<StockEffect, 'none'>): string => `, moved AS (
      INSERT INTO unfolded_stock_movements (tx, sku, effect, quantity)
      SELECT tx, sku, '${effect}', quantity FROM (
        SELECT ${NEW_EVENT_TX} AS tx, i.sku, sum(${QUANTITY[effect]}) AS quantity
          FROM order_items i
         WHERE i.order_id = ANY (ARRAY(SELECT id FROM changed WHERE event_tx = ${NEW_EVENT_TX}))
         GROUP BY i.sku HAVING sum(${QUANTITY[effect]}) > 0
         UNION ALL
        SELECT c.event_tx, i.sku, sum(${QUANTITY[effect]})
          FROM changed c, LATERAL (SELECT * FROM order_items WHERE order_id = c.id OFFSET 0) AS i
         WHERE c.event_tx <> ${NEW_EVENT_TX}
         GROUP BY c.event_tx, i.sku HAVING sum(${QUANTITY[effect]}) > 0) AS lines
       ORDER BY sku COLLATE "C"
    )`;
