import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `target_orders.error`: why no provider gave an answer when the order's payments were last asked about. */
export class CloseTargetUnanswered1764133000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE target_orders ADD COLUMN error text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE target_orders DROP COLUMN error');
  }
}
