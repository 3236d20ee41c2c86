import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What is due and when, and what could not be handled. Narrow on purpose: one index, no JSON. */
export class Deadlines1763600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The primary key is the claim order within a kind; a row lives minutes and is deleted,
    // so autovacuum has to come early and by count, not by share of the table.
    await runner.query(`
      CREATE TABLE deadlines (
        kind       text           NOT NULL,
        due_at     timestamptz(3) NOT NULL,
        subject_id uuid           NOT NULL,
        version    integer        NOT NULL DEFAULT 1,
        failures   smallint       NOT NULL DEFAULT 0,
        PRIMARY KEY (kind, due_at, subject_id)
      ) WITH (
        autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000
      )`);
    await runner.query(
      `COMMENT ON TABLE deadlines IS 'One row for each instant at which something must happen to a subject unless it has moved on'`,
    );
    // Deadlines whose handler kept failing: out of the way of the others until an operator acts.
    await runner.query(`
      CREATE TABLE held_deadlines (
        kind       text           NOT NULL,
        subject_id uuid           NOT NULL,
        due_at     timestamptz(3) NOT NULL,
        version    integer        NOT NULL,
        failures   smallint       NOT NULL,
        error      text           NOT NULL,
        held_at    timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (kind, subject_id)
      )`);
    await runner.query(
      `COMMENT ON TABLE held_deadlines IS 'Deadlines whose handler failed too often; an operator releases them'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE held_deadlines');
    await runner.query('DROP TABLE deadlines');
  }
}
