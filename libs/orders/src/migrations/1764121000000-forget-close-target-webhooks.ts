import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What may be forgotten of close targets' webhooks is found by its age, without reading what may not. */
export class ForgetCloseTargetWebhooks1764121000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX target_webhooks_by_age ON target_webhooks (received_at)
        WHERE status = 'processed' AND result IS DISTINCT FROM 'dismissed'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX target_webhooks_by_age');
  }
}
