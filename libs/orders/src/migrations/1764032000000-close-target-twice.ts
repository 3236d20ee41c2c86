import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Refunds of close targets that stand as done, and that the provider has made once more. */
export class CloseTargetTwice1764032000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE target_refunds
        ADD COLUMN second_refund_id text,
        ADD COLUMN second_settled_at timestamptz`);
    await runner.query(
      `COMMENT ON COLUMN target_refunds.second_refund_id IS 'The provider''s id of another refund of the same money'`,
    );
    await runner.query(
      `CREATE INDEX target_refunds_twice ON target_refunds (updated_at)
        WHERE second_refund_id IS NOT NULL AND second_settled_at IS NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX target_refunds_twice');
    await runner.query(
      'ALTER TABLE target_refunds DROP COLUMN second_settled_at, DROP COLUMN second_refund_id',
    );
  }
}
