import type { Transaction } from '@app/timeout';
import {
  type By,
  type CloseReason,
  type OrderStatus,
  STATUS_DEADLINES,
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
}

export interface ChangedOrder {
  readonly orderId: string;
  readonly version: number;
  readonly closesAt: Date | null;
  readonly changedAt: Date;
  /** The new status's deadline, already in the table; its alarm is the caller's to arm. */
  readonly deadline: { kind: string; dueAt: Date } | undefined;
}

interface ChangedRow {
  id: string;
  version: number;
  closes_at: Date | null;
  changed_at: Date;
  due_at: Date | null;
}

/** The instant column that a status sets, and what entering it clears. */
const INSTANTS: Partial<Record<OrderStatus, string>> = {
  paid: 'paid_at = now(), closed_at = NULL',
  shipped: 'shipped_at = now()',
  completed: 'completed_at = now()',
  closed: 'closed_at = now()',
  canceled: 'canceled_at = now()',
};

/** When a status has timed out, by the database's clock. */
const OVERDUE: Partial<Record<OrderStatus, string>> = {
  pending_payment: 'closes_at <= now()',
  paid: "paid_at + ship_within_ms * interval '1 millisecond' <= now()",
  shipped: "shipped_at + receive_within_ms * interval '1 millisecond' <= now()",
};

/** How each effect moves a line's quantity between the counters of its product. */
const STOCK_MOVES: Record<Exclude<StockEffect, 'none'>, string> = {
  release: 'reserved = p.reserved - m.quantity, available = p.available + m.quantity',
  sell: 'reserved = p.reserved - m.quantity, sold = p.sold + m.quantity',
  restock: 'sold = p.sold - m.quantity, available = p.available + m.quantity',
};

/**
 * The one statement that changes the status of orders: the rows, their history, their stock
 * (summed per SKU, in SKU order, so that two of these cannot deadlock) and their next deadlines.
 * Conditional on the status, and for timeouts on the deadline: orders that are not in the answer
 * were somebody else's, which is an outcome and not an error.
 */
export async function changeStatus(tx: Transaction, change: StatusChange): Promise<ChangedOrder[]> {
  if (change.orderIds.length === 0) return [];
  const rows = await tx.rows<ChangedRow>(statementFor(change), [
    change.orderIds,
    change.from,
    change.to,
    change.closeReason ?? null,
    change.by,
    change.actor ?? null,
    change.reason ?? change.closeReason ?? null,
  ]);
  const kind = deadlineOf(change.to)?.kind;
  return rows.map((row) => ({
    orderId: row.id,
    version: row.version,
    closesAt: row.closes_at,
    changedAt: row.changed_at,
    deadline: kind && row.due_at ? { kind, dueAt: row.due_at } : undefined,
  }));
}

function statementFor({ from, to, onlyIfOverdue }: StatusChange): string {
  const effect = stockEffect(from, to);
  if (effect === undefined) throw new Error(`The lifecycle has no change from ${from} to ${to}`);
  const deadline = deadlineOf(to);
  const instant = INSTANTS[to];
  return `
    WITH changed AS (
      UPDATE orders SET status = $3, version = version + 1, close_reason = $4
             ${instant ? `, ${instant}` : ''}
       WHERE id = ANY ($1::uuid[]) AND status = $2
             ${onlyIfOverdue ? `AND ${OVERDUE[from]}` : ''}
      RETURNING id, version, closes_at, ${deadline?.dueAt ?? 'NULL::timestamptz'} AS due_at
    ), history AS (
      INSERT INTO order_events (order_id, version, type, from_status, to_status, by, actor, reason)
      SELECT id, version, 'order.' || $3, $2, $3, $5, $6, $7 FROM changed
    )${deadline ? DEADLINE_SQL(deadline.kind) : ''}${effect === 'none' ? '' : STOCK_SQL(effect)}
    SELECT id, version, closes_at, due_at::timestamptz(3) AS due_at,
           now()::timestamptz(3) AS changed_at
      FROM changed`;
}

const DEADLINE_SQL = (kind: string): string => `, armed AS (
      INSERT INTO deadlines (kind, due_at, subject_id, version)
      SELECT '${kind}', due_at, id, version FROM changed WHERE due_at IS NOT NULL
      ON CONFLICT DO NOTHING
    )`;

const STOCK_SQL = (effect: Exclude<StockEffect, 'none'>): string => `, moved AS (
      SELECT sku, sum(quantity)::int AS quantity FROM order_items
       WHERE order_id = ANY ($1::uuid[]) AND order_id IN (SELECT id FROM changed)
       GROUP BY sku
    ), locked AS MATERIALIZED (
      SELECT p.sku FROM products p WHERE p.sku IN (SELECT sku FROM moved)
       ORDER BY p.sku FOR NO KEY UPDATE
    ), stock AS (
      UPDATE products p SET ${STOCK_MOVES[effect]}
        FROM moved m JOIN locked USING (sku) WHERE p.sku = m.sku
    )`;

function deadlineOf(status: OrderStatus): { kind: string; dueAt: string } | undefined {
  const deadlines: Partial<Record<OrderStatus, { kind: string; dueAt: string }>> = STATUS_DEADLINES;
  return deadlines[status];
}
