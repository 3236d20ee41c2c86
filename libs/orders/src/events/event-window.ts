import type { Transaction } from '@app/timeout';
import { RELAY_IS_STUCK, WAS_FOUND_STUCK } from '../order/event-tx';
import type { History } from './seal';

/** How far somebody has read the history: windows of transactions, and within one by id. */
export interface Window {
  readonly tx_from: string;
  readonly tx_until: string;
  readonly last_id: string;
}

/**
 * A window that was not finished is gone on with; else the next one, of about so many events: each
 * batch of a window reads all of it. Undefined when no event is new.
 */
export async function currentWindow(
  tx: Transaction,
  cursor: Window,
  windowEvents: number,
): Promise<Window | undefined> {
  if (cursor.tx_from !== cursor.tx_until) return cursor;
  const next = await nextWindow(tx, 'order_events', cursor.tx_until, windowEvents);
  return next && { tx_from: next.fromTx, tx_until: next.untilTx, last_id: '0' };
}

/**
 * All transactions before this one have ended, in the numbers of the history: behind all of it, also where it
 * was restored and is to be rewound.
 */
export async function oldestUnfinished(tx: Transaction): Promise<string> {
  const [row] = await tx.rows<{ oldest: string }>(
    `SELECT CASE WHEN ${RELAY_IS_STUCK} THEN (history_reaches()::text::bigint + 1)::text
                 ELSE event_tx(pg_snapshot_xmin(pg_current_snapshot()))::text END AS oldest`,
  );
  return (row as { oldest: string }).oldest;
}

/**
 * A window is one number at the least, and of a restored history all has one that was written until it was rewound:
 * a day of a large shop, which takes longer than a statement may otherwise.
 */
export const WINDOW_LIMIT_MS = 600_000;

/** The transactions `fromTx` up to, and without, `untilTx`: all of them have ended. */
export interface TxWindow {
  readonly fromTx: string;
  readonly untilTx: string;
}

/**
 * The next whole transactions of a history with about so many rows.
 * Undefined when no row is new, and until a restored history is rewound (docs/adr/0006).
 */
export async function nextWindow(
  tx: Transaction,
  history: History,
  fromTx: string,
  windowRows: number,
): Promise<TxWindow | undefined> {
  // The row behind the window, and where one transaction fills all of it, the next one's first.
  const [row] = await tx.rows<{ over: string; any: string | null; next: string | null }>(
    `WITH over AS MATERIALIZED (SELECT event_tx(pg_snapshot_xmin(pg_current_snapshot())) AS tx),
          first AS (SELECT tx FROM ${history}
                     WHERE tx >= $1::text::xid8 AND tx < (SELECT tx FROM over)
                       AND NOT ${WAS_FOUND_STUCK}
                     ORDER BY tx LIMIT 1),
          behind AS (SELECT tx FROM ${history}
                      WHERE tx >= $1::text::xid8 AND tx < (SELECT tx FROM over)
                      ORDER BY tx OFFSET $2 LIMIT 1)
     SELECT (SELECT tx FROM over)::text AS over, (SELECT tx FROM first)::text AS any,
            CASE WHEN (SELECT tx FROM behind) > (SELECT tx FROM first)
                 THEN (SELECT tx FROM behind)
                 ELSE (SELECT tx FROM ${history}
                        WHERE tx > (SELECT tx FROM behind) AND tx < (SELECT tx FROM over)
                        ORDER BY tx LIMIT 1) END::text AS next`,
    [fromTx, windowRows],
  );
  if (!row || row.any === null) return undefined;
  return { fromTx, untilTx: row.next ?? row.over };
}
