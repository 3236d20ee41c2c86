/**
 * What the relay orders an event by. Never less than the order's event before it: this transaction
 * may have got its id before it waited for the row. SET sees the row as it is after the wait.
 */
export const EVENT_TX = 'greatest(event_tx, pg_current_xact_id())';
