import type { MigrationInterface, QueryRunner } from 'typeorm';
import { rewindRelay as rewindRelayBefore } from './1763900013000-history-seals';

/**
 * `history_reaches()`: the greatest number that anybody has come to in the history. The relay is not the
 * only one who reads it: in an idle shop webhooks and seals come farther than the last event, and after a
 * dump and restore what is new has to get its place behind all of them (docs/adr/0006).
 */
export class HistoryReaches1763930000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(HISTORY_REACHES);
    await runner.query(rewindRelay(await schemaOf(runner)));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(rewindRelayBefore(await schemaOf(runner)));
    await runner.query('DROP FUNCTION history_reaches()');
  }
}

async function schemaOf(runner: QueryRunner): Promise<string> {
  const sql = 'SELECT quote_ident(current_schema()) AS schema';
  const [{ schema }] = (await runner.query(sql)) as [{ schema: string }];
  return schema;
}

/** In plpgsql, as it is to be planned once and its tables are looked up where it runs. */
export const HISTORY_REACHES = `
  CREATE FUNCTION history_reaches() RETURNS xid8 LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    RETURN (SELECT greatest(
      (SELECT greatest(tx_from, tx_until) FROM relay_cursor),
      (SELECT greatest(tx_from, tx_until) FROM webhook_cursor),
      (SELECT max(from_tx) FROM webhook_endpoints),
      (SELECT until_tx FROM history_seals WHERE history = 'order_events'
        ORDER BY number DESC LIMIT 1),
      (SELECT until_tx FROM history_seals WHERE history = 'operator_actions'
        ORDER BY number DESC LIMIT 1),
      (SELECT max(tx) FROM order_events),
      (SELECT max(tx) FROM operator_actions)));
  END $$`;

/** As before, but by how far anybody has come, and with the webhooks standing still meanwhile. */
const rewindRelay = (schema: string): string => `
  CREATE OR REPLACE FUNCTION rewind_relay(since timestamptz, OUT sent_from timestamptz,
                                          OUT was_stuck boolean, OUT events bigint)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
  DECLARE
    relayed relay_cursor;
    newest bigint;
    first_tx xid8;
    first_kept xid8;
    sealed_events bigint;
    sealed_actions bigint;
  BEGIN
    PERFORM pg_advisory_xact_lock(2, 0);
    PERFORM pg_advisory_xact_lock(2, 1);
    PERFORM pg_advisory_xact_lock(2, 2);
    SELECT * INTO STRICT relayed FROM relay_cursor FOR UPDATE;
    newest := history_reaches()::text::bigint;
    was_stuck := newest > event_tx(pg_snapshot_xmax(pg_current_snapshot()))::text::bigint;
    sent_from := coalesce(since, relayed.relayed_at - interval '5 minutes');
    IF was_stuck THEN
      LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE;
      LOCK TABLE operator_actions IN SHARE ROW EXCLUSIVE MODE;
      newest := history_reaches()::text::bigint;
      sent_from := least(sent_from, relayed.relayed_at - interval '5 minutes');
      -- What was written since then has numbers of both clusters: one number, in order of their ids.
      first_tx := (newest + 1)::text::xid8;
      SELECT coalesce(max(last_id) FILTER (WHERE history = 'order_events'), 0),
             coalesce(max(last_id) FILTER (WHERE history = 'operator_actions'), 0)
        INTO sealed_events, sealed_actions FROM history_seals;
      SELECT min(tx) INTO first_kept FROM order_events
       WHERE at >= sent_from AND id <= sealed_events;
      UPDATE order_events SET tx = first_tx
       WHERE at >= sent_from AND id > sealed_events;
      UPDATE operator_actions SET tx = first_tx
       WHERE at >= sent_from AND id > sealed_actions;
      UPDATE stock_movements SET tx = first_tx WHERE at >= sent_from;
      UPDATE unfolded_stock_movements SET tx = first_tx WHERE at >= sent_from;
      -- A transaction that is under way has its id already, hence the oldest of them.
      UPDATE relay_cursor SET tx_ahead =
        newest + 2 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
      first_tx := least(first_tx, first_kept);
    ELSE
      SELECT min(tx) INTO first_tx FROM order_events WHERE at >= sent_from;
    END IF;
    first_tx := least(first_tx, relayed.tx_from);
    UPDATE relay_cursor SET tx_from = first_tx, tx_until = first_tx, last_id = 0;
    SELECT count(*) INTO events FROM order_events WHERE tx >= first_tx;
  END $$`;
