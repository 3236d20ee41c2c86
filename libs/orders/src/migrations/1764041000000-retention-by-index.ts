import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What may be forgotten is found without reading what may not: deliveries by how they have ended, as those
 * that died are kept for longer than those that arrived. The next ones do the same for limits. Each table has a
 * transaction of its own, so that nobody waits for one of them while another one is read. An earlier
 * form of this one did all of it.
 */
export class RetentionByIndex1764041000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const status of ['delivered', 'dead']) {
      await runner.query(
        `CREATE INDEX webhook_deliveries_${status}_by_age ON webhook_deliveries (settled_at)
          WHERE status = '${status}'`,
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP INDEX webhook_deliveries_delivered_by_age, webhook_deliveries_dead_by_age',
    );
  }
}
