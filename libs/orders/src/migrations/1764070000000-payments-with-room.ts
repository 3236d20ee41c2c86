import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Half of each page is left for what becomes of its payments: the version that money makes of one stays in
 * its page, and none of their indexes is written again. Pages that are there already fill as they did.
 */
export class PaymentsWithRoom1764070000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments SET (fillfactor = 50)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments RESET (fillfactor)');
  }
}
