import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What may be forgotten is found without reading what may not: limits by the age of their orders, whose
 * ids begin with their time, and by that of their streaks; deliveries by how they have ended, as those
 * that died are kept for longer than those that arrived.
 */
export class RetentionByIndex1764041000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // First what may have to wait for others: nobody waits for us meanwhile.
    await runner.query('DROP INDEX webhook_deliveries_settled');
    await runner.query('CREATE INDEX unpaid_orders_by_age ON unpaid_orders (order_id)');
    await runner.query('CREATE INDEX unpaid_streaks_by_age ON unpaid_streaks (last_at)');
    for (const status of ['delivered', 'dead']) {
      await runner.query(
        `CREATE INDEX webhook_deliveries_${status}_by_age ON webhook_deliveries (settled_at)
          WHERE status = '${status}'`,
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP INDEX unpaid_orders_by_age, unpaid_streaks_by_age,
                  webhook_deliveries_delivered_by_age, webhook_deliveries_dead_by_age`,
    );
    await runner.query(
      `CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (settled_at)
        WHERE settled_at IS NOT NULL`,
    );
  }
}
