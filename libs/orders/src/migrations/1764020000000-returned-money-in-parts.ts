import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Money that came back to us for an order that is over may come in parts, as it went out: each goes to
 * the customer. The second was taken for the first told of again, and stayed with the shop.
 */
export class ReturnedMoneyInParts1764020000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX refunds_one_a_reason');
    await runner.query(
      `CREATE UNIQUE INDEX refunds_one_a_reason ON refunds (payment_id, reason)
        WHERE reason NOT IN ('operator', 'returned_money') AND status <> 'canceled'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX refunds_one_a_reason');
    await runner.query(
      `CREATE UNIQUE INDEX refunds_one_a_reason ON refunds (payment_id, reason)
        WHERE reason <> 'operator' AND status <> 'canceled'`,
    );
  }
}
