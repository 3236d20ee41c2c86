import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * One brake that is on for each kind that was the worst, and not for all of the schema: the order module's and
 * a host's do not know each other. An older version that runs beside takes any for its own, as before; while two
 * are on, its sweeps fail, and it handles nothing either.
 */
export class BrakesOfKinds1764140000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX one_brake_at_a_time');
    await runner.query(
      'CREATE UNIQUE INDEX one_brake_of_a_kind ON timeout_brakes (kind) WHERE released_at IS NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    // The oldest stops all, whatever its kind.
    await runner.query(`
      UPDATE timeout_brakes b
         SET released_at = now(), released_by = 'lastcall', release_reason = 'another one stays on'
       WHERE released_at IS NULL AND EXISTS (
         SELECT FROM timeout_brakes older
          WHERE older.released_at IS NULL AND (older.engaged_at, older.id) < (b.engaged_at, b.id))`);
    await runner.query('DROP INDEX one_brake_of_a_kind');
    await runner.query(
      'CREATE UNIQUE INDEX one_brake_at_a_time ON timeout_brakes ((true)) WHERE released_at IS NULL',
    );
  }
}
