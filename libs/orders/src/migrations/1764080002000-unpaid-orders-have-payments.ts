import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Of payments that were begun before orders knew of them, where the column was made by an earlier form of its
 * migration, by which all orders had none. All payments are read, once: no deadline needs to lead to their orders,
 * which may be held or lost. In the order of ids, as everybody locks orders.
 */
export class UnpaidOrdersHavePayments1764080002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE orders SET has_payments = true WHERE id IN (
        SELECT id FROM orders
         WHERE status = 'pending_payment' AND id IN (SELECT order_id FROM payments) AND NOT has_payments
         ORDER BY id FOR NO KEY UPDATE)`);
  }

  async down(): Promise<void> {
    // Nothing to undo: it is true of the orders, and goes with its column.
  }
}
