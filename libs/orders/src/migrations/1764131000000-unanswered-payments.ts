import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `payments.error`: why the provider gave no answer when it was last asked to end this payment. */
export class UnansweredPayments1764131000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments ADD COLUMN error text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments DROP COLUMN error');
  }
}
