import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The numbers that events are relayed by are transaction ids, and another cluster counts those anew:
 * after a dump and restore all that is new would be older than what was relayed, and never leave.
 * So an event's number is its transaction's id and `relay_cursor.tx_ahead`, which `rewind_relay`
 * raises where the cluster's ids are behind the history (docs/adr/0006).
 */
export class EventNumbers1763701110000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ schema }] = (await runner.query('SELECT quote_ident(current_schema()) AS schema')) as [
      { schema: string },
    ];
    await runner.query(
      'ALTER TABLE relay_cursor ADD COLUMN tx_ahead bigint NOT NULL DEFAULT 0 CHECK (tx_ahead >= 0)',
    );
    await runner.query(EVENT_TX);
    for (const [table, column] of NUMBERED) {
      await runner.query(
        `ALTER TABLE ${table} ALTER COLUMN ${column} SET DEFAULT event_tx(pg_current_xact_id())`,
      );
    }
    await runner.query(rewindRelay(schema));
    await runner.query('REVOKE ALL ON FUNCTION rewind_relay(timestamptz) FROM PUBLIC');
    await runner.query(`
      DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
          GRANT EXECUTE ON FUNCTION rewind_relay(timestamptz) TO lastcall_app;
        END IF;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION rewind_relay(timestamptz)');
    for (const [table, column] of NUMBERED) {
      await runner.query(
        `ALTER TABLE ${table} ALTER COLUMN ${column} SET DEFAULT pg_current_xact_id()`,
      );
    }
    await runner.query('DROP FUNCTION event_tx(xid8)');
    await runner.query('ALTER TABLE relay_cursor DROP COLUMN tx_ahead');
  }
}

/** Asked for by the row: statements that write many say the number themselves. */
const NUMBERED = [
  ['orders', 'event_tx'],
  ['order_events', 'tx'],
  ['unfolded_stock_movements', 'tx'],
] as const;

const EVENT_TX = `
  CREATE FUNCTION event_tx(transaction_id xid8) RETURNS xid8 LANGUAGE sql STABLE AS $$
    SELECT coalesce(
      (SELECT (transaction_id::text::numeric + tx_ahead)::text::xid8 FROM relay_cursor),
      transaction_id)
  $$`;

/**
 * With its owner's rights, as the application may not touch history: it gives events a later place
 * in the relay, and nothing else of them changes. Whoever writes events waits meanwhile, so that no
 * number is given out by the old count after the new one has begun.
 */
export const rewindRelay = (schema: string): string => `
  CREATE FUNCTION rewind_relay(since timestamptz, OUT sent_from timestamptz, OUT was_stuck boolean,
                               OUT events bigint)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
  DECLARE
    relayed relay_cursor;
    newest bigint;
    first_tx xid8;
  BEGIN
    PERFORM pg_advisory_xact_lock(2, 0);
    SELECT * INTO STRICT relayed FROM relay_cursor FOR UPDATE;
    SELECT greatest(relayed.tx_until, max(tx))::text::bigint INTO newest FROM order_events;
    was_stuck := newest > event_tx(pg_snapshot_xmax(pg_current_snapshot()))::text::bigint;
    sent_from := coalesce(since, relayed.relayed_at - interval '5 minutes');
    IF was_stuck THEN
      LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE;
      SELECT greatest(newest, max(tx)::text::bigint) INTO newest FROM order_events;
      sent_from := least(sent_from, relayed.relayed_at - interval '5 minutes');
      -- What was written since then has numbers of both clusters: one number, in order of their ids.
      first_tx := (newest + 1)::text::xid8;
      UPDATE order_events SET tx = first_tx WHERE at >= sent_from;
      UPDATE stock_movements SET tx = first_tx WHERE at >= sent_from;
      UPDATE unfolded_stock_movements SET tx = first_tx WHERE at >= sent_from;
      -- A transaction that is under way has its id already, hence the oldest of them.
      UPDATE relay_cursor SET tx_ahead =
        newest + 2 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    ELSE
      SELECT min(tx) INTO first_tx FROM order_events WHERE at >= sent_from;
    END IF;
    first_tx := least(first_tx, relayed.tx_from);
    UPDATE relay_cursor SET tx_from = first_tx, tx_until = first_tx, last_id = 0;
    SELECT count(*) INTO events FROM order_events WHERE tx >= first_tx;
  END $$`;
