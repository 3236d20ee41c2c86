import type { MigrationInterface, QueryRunner } from 'typeorm';
import { rewindRelay as rewindRelayBefore } from './1763701110000-event-numbers';

/**
 * `history_seals`: a chain of hashes over `order_events` and `operator_actions`, made afterwards by a
 * worker, which the application may lengthen and not rewrite (docs/adr/0026).
 *
 * `history_salts`: what is personal goes into a seal as a hash with a salt from here. Who erases it puts
 * the hash in its place and forgets the salt: the seal still holds, and nobody can guess what was hashed.
 *
 * `operator_actions.tx`: as for events, which transactions have ended tells what is complete.
 */
export class HistorySeals1763900013000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
    await runner.query(rewindRelay(await schemaOf(runner)));
    await runner.query(RIGHTS);
  }

  async down(runner: QueryRunner): Promise<void> {
    const before = rewindRelayBefore(await schemaOf(runner));
    await runner.query(before.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'));
    await runner.query('DROP TABLE history_salts, history_seals');
    await runner.query('ALTER TABLE operator_actions DROP COLUMN tx');
  }
}

async function schemaOf(runner: QueryRunner): Promise<string> {
  const sql = 'SELECT quote_ident(current_schema()) AS schema';
  const [{ schema }] = (await runner.query(sql)) as [{ schema: string }];
  return schema;
}

const UP = [
  `ALTER TABLE operator_actions
     ADD COLUMN tx xid8 NOT NULL DEFAULT event_tx(pg_current_xact_id())`,
  'CREATE INDEX operator_actions_by_tx ON operator_actions (tx)',
  `CREATE TABLE history_seals (
     history   text           NOT NULL CHECK (history IN ('order_events', 'operator_actions')),
     number    bigint         NOT NULL CHECK (number > 0),
     from_tx   xid8           NOT NULL,
     until_tx  xid8           NOT NULL,
     rows      integer        NOT NULL,
     last_id   bigint         NOT NULL,
     first_at  timestamptz(3),
     last_at   timestamptz(3),
     content   text           NOT NULL,
     sealed_at timestamptz(3) NOT NULL,
     previous  text           NOT NULL,
     digest    text           NOT NULL,
     signature text,
     PRIMARY KEY (history, number)
   )`,
  `CREATE TABLE history_salts (
     of   text PRIMARY KEY,
     salt uuid NOT NULL DEFAULT gen_random_uuid()
   )`,
];

const RIGHTS = `
  DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
      GRANT SELECT, INSERT ON history_seals, history_salts TO lastcall_app;
      REVOKE UPDATE, DELETE ON history_seals, history_salts FROM lastcall_app;
    END IF;
  END $$`;

/**
 * As before, but that what is sealed keeps its number: it was written before the cluster was left,
 * and goes to the stream again from where it is.
 */
export const rewindRelay = (schema: string): string => `
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
    SELECT * INTO STRICT relayed FROM relay_cursor FOR UPDATE;
    SELECT greatest(relayed.tx_until, max(tx))::text::bigint INTO newest FROM order_events;
    was_stuck := newest > event_tx(pg_snapshot_xmax(pg_current_snapshot()))::text::bigint;
    sent_from := coalesce(since, relayed.relayed_at - interval '5 minutes');
    IF was_stuck THEN
      LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE;
      LOCK TABLE operator_actions IN SHARE ROW EXCLUSIVE MODE;
      SELECT greatest(newest, max(tx)::text::bigint) INTO newest FROM order_events;
      SELECT greatest(newest, max(tx)::text::bigint) INTO newest FROM operator_actions;
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
