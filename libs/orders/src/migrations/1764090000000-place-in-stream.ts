import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `relay_cursor.stream_place`: the stream's own id of the last event it was given. Where it has not come so far,
 * Redis has lost what it had taken.
 */
export class PlaceInStream1764090000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE relay_cursor ADD COLUMN stream_place text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE relay_cursor DROP COLUMN stream_place');
  }
}
