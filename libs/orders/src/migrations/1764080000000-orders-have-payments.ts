import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An order's row knows whether there ever was a payment of it. So a batch of overdue orders is closed by
 * one update that asks no other table: a payment that somebody begins meanwhile is seen in the row
 * itself, whatever the update's snapshot. Until payments tell their orders each row says that there may be one:
 * workers of this version, which believe it, may run before the next migration does. A transaction of its
 * own: nobody waits for the lock of this table while another one is waited for.
 */
export class OrdersHavePayments1764080000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders ADD COLUMN has_payments boolean NOT NULL DEFAULT true');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders DROP COLUMN has_payments');
  }
}
