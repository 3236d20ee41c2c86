import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Money on hold is counted by every scrape of the metrics: few rows among all payments ever made. */
export class PaymentsOnHold1763600012000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX payments_on_hold ON payments (id) WHERE hold_reason IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX payments_on_hold');
  }
}
