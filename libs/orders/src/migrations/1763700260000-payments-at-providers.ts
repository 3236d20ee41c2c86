import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `payments.request`: what is sent to open a payment, stored before it is sent, so that a call whose
 * answer is lost can be repeated word for word (json, which keeps the order of fields, not jsonb). `payments.failure`: why nothing was opened.
 *
 * `payment_keys`: which payment a customer's Idempotency-Key has opened, or found open.
 *
 * `installation`: who we are to a provider whose account several installations share.
 */
export class PaymentsAtProviders1763700260000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments ADD COLUMN request json, ADD COLUMN failure text');
    await runner.query(`
      CREATE TABLE payment_keys (
        order_id   uuid           NOT NULL,
        key        text           NOT NULL,
        payment_id uuid           NOT NULL,
        provider   text,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (order_id, key)
      )`);
    await runner.query('CREATE INDEX payment_keys_by_age ON payment_keys (created_at)');
    await runner.query(`
      CREATE TABLE installation (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        id       uuid    NOT NULL DEFAULT gen_random_uuid()
      )`);
    await runner.query('INSERT INTO installation DEFAULT VALUES');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE installation');
    await runner.query('DROP TABLE payment_keys');
    await runner.query('ALTER TABLE payments DROP COLUMN request, DROP COLUMN failure');
  }
}
