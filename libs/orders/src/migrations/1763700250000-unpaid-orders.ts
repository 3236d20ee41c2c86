import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What each customer holds without having paid: written when an order is placed, looked at and
 * tidied when the customer places the next one. Closing and paying do not touch these rows: whether
 * an order is still unpaid is what its own row says.
 */
export class UnpaidOrders1763700250000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE unpaid_orders (
        customer_id text           NOT NULL,
        order_id    uuid           NOT NULL,
        free_until  timestamptz(3),
        PRIMARY KEY (customer_id, order_id)
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)`);
    await runner.query(`
      INSERT INTO unpaid_orders (customer_id, order_id)
      SELECT customer_id, id FROM orders WHERE status IN ('pending_payment', 'closing')`);
    await runner.query(`
      CREATE TABLE unpaid_streaks (
        customer_id text           PRIMARY KEY,
        in_a_row    integer        NOT NULL CHECK (in_a_row >= 0),
        last_at     timestamptz(3) NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE unpaid_streaks, unpaid_orders');
  }
}
