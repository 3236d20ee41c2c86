import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Nobody can write a payment and not say so in its order's row: neither an older version that still runs,
 * nor somebody by hand, in whatever schema the tables are.
 */
export class PaymentsTellOrders1764080001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
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
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER tell_orders ON payments');
    await runner.query('DROP FUNCTION tell_orders_of_payments()');
  }
}
