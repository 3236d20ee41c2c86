import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What hosts' deadlines are about, by the names that hosts have for it. Each arming gives the subject
 * a fresh id: a deadline whose id is not there any more has been replaced or taken back, and loses.
 */
export class TimeoutSubjects1763701500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE timeout_subjects (
        id      uuid           PRIMARY KEY,
        kind    text           NOT NULL,
        subject text           NOT NULL CHECK (subject <> ''),
        due_at  timestamptz(3) NOT NULL,
        version integer        NOT NULL DEFAULT 1,
        UNIQUE (kind, subject)
      ) WITH (autovacuum_vacuum_scale_factor = 0.02)`);
    await runner.query(
      'CREATE INDEX timeout_subjects_by_due ON timeout_subjects (kind, due_at, subject)',
    );
    await runner.query(
      `COMMENT ON TABLE timeout_subjects IS 'One row for each subject of a host that has a deadline of a kind'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE timeout_subjects');
  }
}
