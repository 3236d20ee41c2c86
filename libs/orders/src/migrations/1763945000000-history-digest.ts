import type { MigrationInterface, QueryRunner } from 'typeorm';
import { HISTORY_REACHES } from './1763930000000-history-reaches';

/**
 * What the console tells of the history, so that no look at it reads the history itself:
 * `close_lags` counts closes by minute, cause and lag, `operator_events` names the events that are
 * operators' doing. Written afterwards, by a worker that reads each event once (`history_digest`
 * says how far it has come). It begins with the oldest one.
 */
export class HistoryDigest1763945000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
    await runner.query(GRANTS);
    // One more who reads the history.
    await runner.query(
      REPLACED.replace('greatest(', 'greatest(\n      (SELECT until_tx FROM history_digest),'),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(REPLACED);
    await runner.query('DROP TABLE history_digest, operator_events, close_lags');
  }
}

const REPLACED = HISTORY_REACHES.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION');

const UP = [
  // `bucket`: quarters of a doubling of milliseconds; -1 for who closed before the deadline.
  `CREATE TABLE close_lags (
     minute timestamptz(0) NOT NULL,
     by     text           NOT NULL,
     bucket smallint       NOT NULL,
     closes integer        NOT NULL CHECK (closes > 0),
     PRIMARY KEY (minute, by, bucket)
   ) WITH (fillfactor = 50)`,
  `CREATE TABLE operator_events (
     order_id uuid           NOT NULL,
     version  integer        NOT NULL,
     at       timestamptz(3) NOT NULL,
     PRIMARY KEY (order_id, version)
   )`,
  'CREATE INDEX operator_events_by_age ON operator_events (at)',
  `CREATE TABLE history_digest (
     only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
     until_tx xid8    NOT NULL
   )`,
  `INSERT INTO history_digest (until_tx) VALUES ('0')`,
];

/** The role is given its rights in the end: those who call the function do so meanwhile, and where that does not come. */
const GRANTS = `
  DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
                WHERE c.oid = 'relay_cursor'::regclass AND r.rolname = 'lastcall_app') THEN
      GRANT SELECT ON history_digest TO lastcall_app;
    END IF;
  END $$`;
