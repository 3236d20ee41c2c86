import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `workers.stopped_kinds`: of which kinds the handlers fail for all there, and with what, as [{kind, reason, forMs}].
 * Of an older version's worker nothing is known.
 */
export class StoppedKinds1764160000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE workers ADD COLUMN stopped_kinds jsonb NOT NULL DEFAULT '[]'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE workers DROP COLUMN stopped_kinds');
  }
}
