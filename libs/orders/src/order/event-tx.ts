/** This transaction's number in the history. In a subquery, so that a statement asks for it once. */
export const NEW_EVENT_TX = '(SELECT event_tx(pg_current_xact_id()))';

/**
 * What the relay orders an event by. Never less than the order's event before it: this transaction
 * may have got its id before it waited for the row. SET sees the row as it is after the wait.
 */
export const EVENT_TX = `greatest(event_tx, ${NEW_EVENT_TX})`;

/**
 * When an event of the rows `changed` is told to have been. Never before the order's event before it, for the same
 * reason; it is read where there may be another transaction that nobody had to hear of: behind the placing there is none.
 */
export const EVENT_AT = `greatest(now(), CASE WHEN changed.version > 2 THEN (
  SELECT e.at FROM order_events e
   WHERE e.order_id = changed.id AND e.version = changed.version - 1) END)`;

/** True from when the history was found to be ahead of this cluster's transactions until it is rewound. */
export const WAS_FOUND_STUCK = 'EXISTS (SELECT FROM relay_cursor WHERE stuck_at IS NOT NULL)';

/**
 * True where the history is ahead of this cluster's transactions, as after a dump and restore: no
 * event that is written now would be relayed, sealed, or sent to the shop's systems. And where it was: those
 * that were written meanwhile would not.
 */
export const RELAY_IS_STUCK = `(${WAS_FOUND_STUCK}
  OR history_reaches() > event_tx(pg_snapshot_xmax(pg_current_snapshot())))`;
