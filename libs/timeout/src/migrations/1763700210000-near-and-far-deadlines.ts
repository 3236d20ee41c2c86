import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Far deadlines (30 days, 14 days) in a partition of their own: in the one that rings and sweeps
 * read, a row lives minutes, and nothing there grows with what waits for long. `far` is set by
 * whoever inserts; a row that is not far by its column is always found, however far it is.
 */
export class NearAndFarDeadlines1763700210000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE deadlines RENAME TO near_deadlines`);
    await runner.query(`ALTER TABLE near_deadlines RENAME CONSTRAINT deadlines_pkey TO near_pkey`);
    await runner.query(`ALTER TABLE near_deadlines ADD COLUMN far boolean NOT NULL DEFAULT false`);
    await runner.query(`
      CREATE TABLE deadlines (
        kind       text           NOT NULL,
        due_at     timestamptz(3) NOT NULL,
        subject_id uuid           NOT NULL,
        version    integer        NOT NULL DEFAULT 1,
        failures   smallint       NOT NULL DEFAULT 0,
        far        boolean        NOT NULL DEFAULT false,
        PRIMARY KEY (kind, due_at, subject_id, far)
      ) PARTITION BY LIST (far)`);
    await runner.query(`
      CREATE TABLE far_deadlines PARTITION OF deadlines FOR VALUES IN (true)
        WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)`);
    await runner.query(`
      WITH gone AS (DELETE FROM near_deadlines WHERE due_at > now() + interval '1 hour' RETURNING *)
      INSERT INTO far_deadlines SELECT kind, due_at, subject_id, version, failures, true FROM gone`);
    await runner.query(`ALTER TABLE near_deadlines DROP CONSTRAINT near_pkey`);
    await runner.query(
      `ALTER TABLE deadlines ATTACH PARTITION near_deadlines FOR VALUES IN (false)`,
    );
    // Small and hot: no rest in between.
    await runner.query(`ALTER TABLE near_deadlines SET (autovacuum_vacuum_cost_delay = 0)`);
    await runner.query(
      `COMMENT ON TABLE deadlines IS 'One row for each instant at which something must happen to a subject unless it has moved on'`,
    );
    await runner.query(
      `COMMENT ON TABLE near_deadlines IS 'What rings and sweeps read: deadlines due within the hour, and overdue'`,
    );
    await runner.query(
      `COMMENT ON TABLE far_deadlines IS 'Deadlines that a sweep moves to near_deadlines as they come near'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE deadlines DETACH PARTITION near_deadlines`);
    await runner.query(
      `INSERT INTO near_deadlines SELECT * FROM far_deadlines ON CONFLICT DO NOTHING`,
    );
    await runner.query(`DROP TABLE deadlines`);
    await runner.query(`ALTER TABLE near_deadlines DROP COLUMN far`);
    await runner.query(
      `ALTER TABLE near_deadlines ADD CONSTRAINT deadlines_pkey PRIMARY KEY (kind, due_at, subject_id)`,
    );
    await runner.query(`ALTER TABLE near_deadlines RESET (autovacuum_vacuum_cost_delay)`);
    await runner.query(`ALTER TABLE near_deadlines RENAME TO deadlines`);
  }
}
