import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `webhook_endpoints.failing_for`: for how long an endpoint was asked in vain, which is less than the time since
 * `failing_since` where nobody asked; `failed_at`: when it was last asked so. One that fails already is counted anew.
 */
export class TimeOfFailing1764138000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE webhook_endpoints
        ADD COLUMN failing_for interval NOT NULL DEFAULT '0', ADD COLUMN failed_at timestamptz(3)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE webhook_endpoints DROP COLUMN failing_for, DROP COLUMN failed_at',
    );
  }
}
