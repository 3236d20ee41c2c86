import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `relay_cursor.filled_at`: when a stream that was lost as a whole was last filled again. Where Redis evicts it, filling
 * it is what makes Redis evict it.
 */
export class StreamFilledAt1764110000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE relay_cursor ADD COLUMN filled_at timestamptz(3)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE relay_cursor DROP COLUMN filled_at');
  }
}
