import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The index that retention has read until now: only older versions do. */
export class WebhooksByTheirEnd1764041003000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS webhook_deliveries_settled');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (settled_at)
        WHERE settled_at IS NOT NULL`,
    );
  }
}
