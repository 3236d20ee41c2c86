import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `orders.carrier`, `orders.tracking_number`: what the merchant says of a parcel. */
export class MerchantsView1763800100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE orders ADD COLUMN carrier text, ADD COLUMN tracking_number text',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders DROP COLUMN carrier, DROP COLUMN tracking_number');
  }
}

/**
 * The index finds the webhooks that tell of an order's payments; without it each look would read the whole
 * inbox. In a transaction of its own: orders are free while the inbox is read. An earlier form of the one
 * before made it, too.
 */
export class WebhooksOfPayment1763800101000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX IF NOT EXISTS webhook_events_of_payment
           ON webhook_events ((notice ->> 'paymentId'))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhook_events_of_payment');
  }
}
