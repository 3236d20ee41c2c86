import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Waiting states that were told of: by a row, so that a process which ends in between loses no alert,
 * and several processes give one. Disputes are found among all movements by an index of their own.
 */
export class Waits1763701120000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE waits_told (
        what       text           NOT NULL,
        subject_id uuid           NOT NULL,
        told_at    timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (what, subject_id)
      )`);
    await runner.query(
      `CREATE INDEX money_movements_disputed ON money_movements (payment_id, ref)
        WHERE kind = 'disputed'`,
    );
    await runner.query(`
      DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
          GRANT SELECT, INSERT, DELETE ON waits_told TO lastcall_app;
        END IF;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX money_movements_disputed');
    await runner.query('DROP TABLE waits_told');
  }
}
