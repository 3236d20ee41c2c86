import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Payments tell their orders by now, so an order that is placed from now on has none until it is told. Those
 * of before go on saying that there may be one: they are closed as they were, by what is open.
 */
export class OrdersBeginUnpaid1764080001500 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders ALTER COLUMN has_payments SET DEFAULT false');
    await runner.query(`
      COMMENT ON COLUMN orders.has_payments IS
        'There may be a payment of it: false, of an unpaid order, only where there never was one'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders ALTER COLUMN has_payments SET DEFAULT true');
    // Whoever begins to pay them tells nobody once the trigger is gone.
    await runner.query(
      `UPDATE orders SET has_payments = true WHERE status = 'pending_payment' AND NOT has_payments`,
    );
    await runner.query('COMMENT ON COLUMN orders.has_payments IS NULL');
  }
}
