import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An order's row knows whether there ever was a payment of it. So a batch of overdue orders is closed by
 * one update that asks no other table: a payment that somebody begins meanwhile is seen in the row
 * itself, whatever the update's snapshot. Kept here, so that nobody can write a payment and not say so:
 * neither an older version that still runs, nor somebody by hand, in whatever schema the tables are.
 */
export class OrdersKnowPayments1764080000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders ADD COLUMN has_payments boolean NOT NULL DEFAULT false');
    await runner.query(`
      COMMENT ON COLUMN orders.has_payments IS
        'There ever was a payment of it; said of orders that were unpaid when this column was made, and of all after'`);
    await runner.query(`
      CREATE FUNCTION tell_orders_of_payments() RETURNS trigger LANGUAGE plpgsql AS $f$
      BEGIN
        EXECUTE format('UPDATE %I.orders SET has_payments = true
                         WHERE id IN (SELECT order_id FROM begun) AND NOT has_payments', TG_TABLE_SCHEMA);
        RETURN NULL;
      END $f$`);
    await runner.query(`
      CREATE TRIGGER tell_orders AFTER INSERT ON payments REFERENCING NEW TABLE AS begun
        FOR EACH STATEMENT EXECUTE FUNCTION tell_orders_of_payments()`);
    // Unpaid orders are found by their deadlines: there are few of those, and millions of orders.
    await runner.query(`
      UPDATE orders o SET has_payments = true
        FROM (SELECT DISTINCT subject_id FROM deadlines WHERE kind = 'payment') AS unpaid
       WHERE o.id = unpaid.subject_id AND EXISTS (SELECT FROM payments p WHERE p.order_id = o.id)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER tell_orders ON payments');
    await runner.query('DROP FUNCTION tell_orders_of_payments()');
    await runner.query('ALTER TABLE orders DROP COLUMN has_payments');
  }
}
