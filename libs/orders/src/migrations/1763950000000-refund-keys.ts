import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `refund_keys`: which request for a refund an operator's Idempotency-Key has stood for, so that one
 * whose answer was lost can be repeated without a second refund.
 */
export class RefundKeys1763950000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE refund_keys (
        order_id   uuid           NOT NULL,
        key        text           NOT NULL,
        body_hash  text           NOT NULL,
        refund_ids uuid[]         NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (order_id, key)
      )`);
    await runner.query('CREATE INDEX refund_keys_by_age ON refund_keys (created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE refund_keys');
  }
}
