import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which comparisons were the night's: an operator's, who settles nothing, is none to go on with. */
export class NightlyRuns1763701150000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE reconcile_runs ADD COLUMN is_nightly boolean NOT NULL DEFAULT false',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE reconcile_runs DROP COLUMN is_nightly');
  }
}
