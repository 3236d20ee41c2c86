import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Webhooks that are due are found by one index, which is the only one that can be used for it: the one
 * for those that are given up asks for more. With two, Postgres chose by what it knew of those that wait,
 * of which there are none nearly always, and read and sorted all that waited for each sixteen it sent.
 */
export class WebhooksGivenUp1764000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhook_deliveries_given_up');
    await runner.query(
      `CREATE INDEX webhook_deliveries_given_up ON webhook_deliveries (retry_until)
        WHERE status = 'pending' AND settled_at IS NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhook_deliveries_given_up');
    await runner.query(
      `CREATE INDEX webhook_deliveries_given_up ON webhook_deliveries (retry_until)
        WHERE status = 'pending'`,
    );
  }
}
