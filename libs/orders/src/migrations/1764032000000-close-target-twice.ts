import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which attempts of a close target's refund were made, so that money which went back twice is seen. */
export class CloseTargetTwice1764032000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE target_refunds
        ADD COLUMN made jsonb NOT NULL DEFAULT '[]',
        ADD COLUMN made_twice_at timestamptz`);
    await runner.query(
      `COMMENT ON COLUMN target_refunds.made IS 'Attempts that were made: attempt, providerRefundId, hasFailed, isDismissed'`,
    );
    await runner.query(
      `COMMENT ON COLUMN target_refunds.made_twice_at IS 'Since when two of them stand, and nobody has settled that'`,
    );
    await runner.query(
      `CREATE INDEX target_refunds_twice ON target_refunds (made_twice_at) WHERE made_twice_at IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX target_refunds_twice');
    await runner.query('ALTER TABLE target_refunds DROP COLUMN made_twice_at, DROP COLUMN made');
  }
}
